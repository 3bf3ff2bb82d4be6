/** Lists that recipients do not see, such as those that the service fills with recipients of a campaign. */
export const name = '0119_visible_lists';

export const up = `
alter table lists add column visible boolean not null default true;
comment on column lists.visible is 'whether its members see it on their preference page';

-- The service made a list if one transaction wrote both it and its fill, or both it and the copy of a campaign that is
-- sent to it: their times are the same to the microsecond. Fills are removed after 90 days, and a copy may be gone or
-- have another audience, so a list is also recognized by the name that it got from a campaign.
update lists l set visible = false
where exists (
    select 1 from campaign_list_fills f where f.list_id = l.id and f.created_at = l.created_at)
  or exists (
    select 1 from campaigns c
    where c.brand_id = l.brand_id and c.contact_list_id = l.id and c.created_at = l.created_at)
  or (l.name like '%: not opened' and exists (
    select 1 from campaigns c where c.brand_id = l.brand_id and l.name = left(c.name, 230) || ': not opened'));
`;

export const down = `
alter table lists drop column visible;
`;
