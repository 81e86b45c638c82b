-- What a menu tells of a product beside prices and potency; a dose apart from a weight; the platform's own times.
-- breaking: no

alter table storecrawl.products
    add column rec_only boolean,
    add column medical_only boolean,
    add column revised_at timestamptz;

comment on column storecrawl.products.rec_only is 'For recreational use only; null where the platform does not say for whom it is.';
comment on column storecrawl.products.medical_only is 'For medical use only; null where the platform does not say for whom it is.';
comment on column storecrawl.products.revised_at is 'When the platform says that the product was last changed, at the newest sight.';

-- Not checked against the rows that are there: all of them have none.
alter table storecrawl.variants
    add column dose_mg numeric(9, 3),
    add constraint a_dose_is_positive check (dose_mg > 0) not valid;

comment on column storecrawl.variants.dose_mg is
    'Milligrams of what is active in the package, of what is sold by that; such an option has no weight.';

-- Apart from products, every row of which is written in every cycle: this is written when it changes.
create table storecrawl.product_details (
    product_id   bigint primary key references storecrawl.products (id),
    effects      jsonb not null,
    cannabinoids jsonb not null,
    terpenes     jsonb not null,
    specials     jsonb not null,
    tags         text[] not null,
    net_weight   jsonb,
    volume       jsonb
);

comment on table storecrawl.product_details is
    'What the newest state of a product tells beside its options; a product has no row until it is next written.';
comment on column storecrawl.product_details.effects is '[{"name", "score"}], the strongest first; the score may be null.';
comment on column storecrawl.product_details.cannabinoids is '[{"name", "value", "unit"}], units as in products.thc_unit.';
comment on column storecrawl.product_details.terpenes is '[{"name", "value", "unit"}], units as in products.thc_unit.';
comment on column storecrawl.product_details.specials is
    '[{"external_id", "name", "kind", "menu", "discount_type", "discount"}], whether or not they lower a price.';
comment on column storecrawl.product_details.net_weight is '{"values", "unit"}: a value, or one an option; null where it is not measured.';
comment on column storecrawl.product_details.volume is '{"values", "unit"}, as net_weight.';
