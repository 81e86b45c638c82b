// All that pages do by themselves; each works without it, as plain links and forms.
import "./local-time.js";
import "./json-text.js";
import "./line-chart.js";
import { fillIn } from "./viewers-zone.js";
import { follow } from "./live.js";
import { listen as askFirst } from "./asking.js";
import { listen as unfold } from "./side.js";
import { listen as shortcuts } from "./keys.js";
import { listen as select } from "./selection.js";
import { listen as tidy } from "./tidy-forms.js";

fillIn();
askFirst();
unfold();
shortcuts();
select();
tidy();
follow(document.body.dataset.stream);
