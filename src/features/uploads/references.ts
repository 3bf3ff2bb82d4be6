/**
 * SQL: whether another row refers to the upload `u` of the table `uploads`: an avatar, a banner or a logo. Such a row
 * stores `upload:<id>`.
 */
export const USED_SQL = `(
  exists (select 1 from accounts a where a.id = u.account_id and 'upload:' || u.id in (a.avatar, a.banner))
  or exists (select 1 from brands b where b.account_id = u.account_id and b.logo = 'upload:' || u.id))`;
