import { orphanedFilesTask } from '../../../platform/housekeeping/orphaned-files.ts';

/**
 * Clears files whose mail was not accepted or written, because its process died before the commit. Files that wait to be
 * removed count as having a row.
 */
export const orphanedInboxFiles = orphanedFilesTask('orphaned_inbox_files', {
  kind: 'inbox',
  keysSql: `
    select id, raw_key as key from inbound_mails
    union all select id, raw_key from conversation_messages where raw_key is not null
    union all select id, storage_key from conversation_attachments where storage_key is not null
    union all select 0, key from inbox_removed_files`,
});
