// The pages are in English, and the server writes numbers with a comma (formats.py). Times, numbers and plots use the
// same locale for everybody, with a clock of 24 hours.
export const LOCALE = "en-GB";
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
