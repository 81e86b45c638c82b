"""Word lists for names and texts, all of them invented."""

from __future__ import annotations


def _split(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(" / "))


CHAIN_FIRST = _split(
    "Amber / Basalt / Canopy / Driftwood / Ember / Fernway / Gilded / Hollow / Inkwell / Juniper / "
    "Kestrel / Lowland / Meridian / Northfold / Oxbow / Pinecrest / Quarry / Ridgeback / Saltmarsh / "
    "Thistle / Upland / Verdigris / Wayfarer / Yarrow"
)
CHAIN_SECOND = _split(
    "Apothecary / Botanicals / Collective / Cannabis Co. / Greens / Dispensary / Wellness / Leaf / Supply / & Vine"
)
SHOP_FIRST = _split(
    "Blue Heron / Copper Kettle / Dusty Road / Elder Grove / Fox & Fable / Green Lantern Lane / "
    "High Meadow / Ironwood / Jade Harbor / Kindling / Little Prairie / Moonrise / Nine Oaks / Old Mill / "
    "Paper Crane / Quiet Valley / River Bend / Silver Birch / Tall Grass / Under the Elm / Violet Hour / "
    "Wild Clover / Yellow Barn / Zephyr / Grüne Wiese / Le Jardin Doré"
)
SHOP_SECOND = _split(
    "Cannabis / Dispensary / Provisions / Remedies / Garden / Cannabis Company / Wellness Center / Buds / Outpost"
)
QUARTERS = _split(
    "Downtown / East Side / Harbor Front / Heights / Lakeshore / Mill District / North End / Old Town / "
    "Riverside / South Gate / University Row / West Hill"
)
STREETS = _split(
    "Main St / Oak Ave / 2nd St / Market St / Industrial Blvd / Lakeview Dr / Mill Rd / Railroad Ave / "
    "County Road 9 / Cedar Ln"
)
BRAND_FIRST = _split(
    "Aurum / Birdsong / Cinder / Daybreak / Echo / Farmhand / Glasshouse Row / Halcyon / Ivory / Jolt / "
    "Kite / Loam / Marrow / Nimbus / Orchard / Pollen / Quill / Rook / Sundial / Tallow / Umber / Vesper "
    "/ Wick / Yonder / Zest / Mørk / Björk / Señor Verde / N’Joy / &Glow / Half Past / Two Rivers"
)
BRAND_SECOND = _split(
    "Extracts / Farms / Labs / Co. / Brothers / & Daughters / Craft / Naturals / Reserve / Goods "
    "/ Kitchen / Works / Gardens / 420"
)
STRAIN_FIRST = _split(
    "Apricot / Banjo / Cobalt / Dizzy / Electric / Frosted / Grape / Honeyed / Icebox / Jelly / Key Lime "
    "/ Lavender / Midnight / Neon / Orange / Papaya / Quick / Rainbow / Sour / Tangerine / Ultra / Velvet "
    "/ White / Xeno / Yuzu / Zebra / Black Cherry / Crème / Piña / Purple"
)
STRAIN_SECOND = _split(
    "Anvil / Banner / Cobbler / Drifter / Express / Fizz / Gelée / Haze Road / Island / Jam / Kush Mile / "
    "Lantern / Mints / Nectar / OG Trail / Parfait / Quartz / Runner / Sherb / Truffle / Upside / Vortex "
    "/ Wedding Bell / #7 / #22 / 2.1 / Zoom / Δ9 / Diesel Line / Punch"
)
STRAIN_TAILS = _split("Live Sugar / Reserve / X Banjo Mints / Infused")
FLAVORS = _split(
    "Mixed Berry / Sea Salt Caramel / Mango Chili / Blood Orange / Peach / Watermelon / Cookies & Cream / "
    "Green Apple / Huckleberry / Espresso / Mint / Pomegranate / Raspberry Lemonade / Jalapeño Lime / "
    "Vanilla"
)
SWEETS = _split("Gummies / Chocolate / Chews / Drops / Troche | 10pk")
GEAR = _split(
    "Rolling Tray / Grinder / 510 Battery / Glass Pipe / Dab Tool / Lighter / Rolling Papers / "
    "Storage Jar / Smell Proof Bag / Silicone Mat / Torch / Bubbler / Cone Loader"
)
GEAR_TAILS = (
    "",
    " | Assorted Colors",
    " (7x5)",
    " | 63mm",
    ' 6"',
    " V2",
    " | Variable Voltage",
)
CLOTHING = _split("Logo Tee / Beanie / Dad Hat / Hoodie / Enamel Pin / Tote Bag")
BALMS = _split("Cooling Balm / Muscle Rub / Bath Soak / Roll-On / Lotion / Transdermal Patch")
BALM_TAILS = _split("1:1 / 3:1 / CBD / Extra")
NAME_FORMS = (
    "{brand} -{gap}{what}",
    "{brand} –{gap}{what} {size}",
    "{what}{gap}[{size}]",
    "{what}",
    "{what}{gap}{size}",
)

DESCRIPTION_PARTS = (
    "Grown in small rooms under patient hands.",
    "Notes of citrus peel, warm pepper and fresh pine.",
    "A slow cure keeps the jar loud until the last crumb.",
    "Made for evenings that start early and end late.",
    "Tested twice – once by the lab, once by us.",
    "Best kept cool, dry & out of the sun.",
    "Each batch is counted, sealed and dated by hand.",
    "Bright on the inhale, heavy on the couch…",
    "Cold-cured, single source, never rushed™.",
    "Sweet first, then earthy, then gone.",
    "Start low and go slow.",
    "Crafted with care for people who read labels.",
    "Roots & leaves from one family farm.",
    "Terpenes: limonene, caryophyllene, linalool.",
    "Not sure? Ask your budtender 🍬",
    "Rich in Δ9 and in good company.",
    "Contains tree nuts &amp; dairy.&nbsp;Keep away from children.",
    "The batch sells out before the week does.",
)
SPECIAL_OCCASIONS = _split(
    "Early Bird / Happy Hour / Weekend Deal / Loyalty Day / Harvest Sale / Founders' Day / Midweek Munch / Payday"
)
EFFECTS = _split("calm / happy / relaxed / energetic / sleepy / euphoric / creative / focused / inspired")
CANNABINOIDS = (
    "THC-D9 (Delta 9–tetrahydrocannabinol)",
    "THCA (Δ9-tetrahydrocannabinolic acid)",
    "CBDA (Cannabidiolic acid)",
    "CBG (Cannabigerol)",
    "CBN (Cannabinol)",
    '"TAC" - Total Active Cannabinoids',
)
TERPENES = _split("Limonene / beta-Caryophyllene / Linalool / Myrcene / alpha-Pinene / Humulene / Terpinolene")
