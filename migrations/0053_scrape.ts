/** Scrapes of websites, which fill in brands. */
export const name = '0053_scrape';

export const up = `
create table brand_scrapes (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  brand_id bigint not null references brands on delete cascade,
  url text not null,
  overwrite boolean not null,
  status text not null default 'scraping' check (status in ('scraping', 'completed', 'failed', 'discarded')),
  fields_found text[] not null default '{}',
  error text,
  before jsonb not null,
  started_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  engine_expected_by timestamptz
);
create index brand_scrapes_of_brand on brand_scrapes (brand_id, id desc);
create index brand_scrapes_expected on brand_scrapes (engine_expected_by) where engine_expected_by is not null;
comment on column brand_scrapes.status is 'discarded: a newer scrape of the brand has replaced it';
comment on column brand_scrapes.before is 'what the brand had when the scrape began, of the fields that a scrape fills';

alter table brands add column scraped jsonb not null default '{}';
comment on column brands.scraped is
  'values that scrapes have written; a field that has another value now was edited since, and is not filled again';
`;

export const down = `
alter table brands drop column scraped;
drop table brand_scrapes;
`;
