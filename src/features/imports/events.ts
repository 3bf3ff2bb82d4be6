import { z } from 'zod';
import { countField, defineEvent, idField, testField } from '../../platform/events/define.ts';
import { importResources } from './schema.ts';

const importFields = {
  import_id: idField,
  resource: z.enum(importResources),
  filename: z.string(),
  dry_run: z.boolean().meta({ description: 'Whether the import was a dry run, which changes nothing.' }),
  total_rows: countField,
  created_count: countField,
  updated_count: countField,
  unchanged_count: countField,
  duplicate_count: countField,
  failed_count: countField,
  warning_count: countField.meta({
    description: 'Rows that were imported without some of their cells. They count in another count, too.',
  }),
};

export const importEvents = {
  completed: defineEvent('import.completed', {
    sentWhen: 'An import finished. `resource` says what was imported.',
    data: z.object({ ...importFields, test: testField }),
    sample: () => ({
      import_id: null,
      resource: 'contacts' as const,
      filename: 'contacts.csv',
      dry_run: false,
      total_rows: 1_000,
      created_count: 820,
      updated_count: 140,
      unchanged_count: 20,
      duplicate_count: 12,
      failed_count: 8,
      warning_count: 3,
      test: true as const,
    }),
  }),
  failed: defineEvent('import.failed', {
    sentWhen: 'An import failed. `resource` says what was to be imported.',
    data: z.object({ ...importFields, reason: z.string(), test: testField }),
    sample: () => ({
      import_id: null,
      resource: 'contacts' as const,
      filename: 'contacts.csv',
      dry_run: false,
      reason: 'the file has no column of email addresses or phone numbers',
      total_rows: 0,
      created_count: 0,
      updated_count: 0,
      unchanged_count: 0,
      duplicate_count: 0,
      failed_count: 0,
      warning_count: 0,
      test: true as const,
    }),
  }),
};
