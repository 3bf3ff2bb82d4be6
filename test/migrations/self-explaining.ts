/**
 * Names of columns that mean the same in every table and need no comment in the database. Add a name only if a reader
 * who knows the table, but no code, cannot misunderstand it: not if a unit, the meaning of null or the writer is open.
 */
export const selfExplaining: ReadonlySet<string> = new Set([
  // Keys: the row of `accounts`, `brands` and so on.
  'id',
  'account_id',
  'brand_id',
  'campaign_id',
  'contact_id',
  'export_id',
  'flow_id',
  'grant_id',
  'import_id',
  'inbox_id',
  'list_id',
  'message_id',
  'template_id',
  'user_id',
  'webhook_id',
  // Times.
  'created_at',
  'finished_at',
  'started_at',
  'updated_at',
  // What people and resources are called, and what mail consists of.
  'channel',
  'email',
  'filename',
  'first_name',
  'html',
  'last_name',
  'name',
  'subject',
  'text',
  'user_agent',
]);
