import { z } from 'zod';
import type { ValidationErrors } from '../../errors.ts';
import { idParam, pageQuery } from '../../platform/db/paging.ts';
import { describeJsonFault } from '../../platform/json/fault.ts';
import { readCountry } from '../../delivery/terms/addresses/countries.ts';
import { suppressionReasons } from '../../delivery/ledger/consent/suppressions.ts';
import { csvEncodings, encodingOf } from '../../platform/csv/encodings.ts';
import { findUnstorable } from '../../platform/input/storable.ts';
import type { ConsentHeading } from './consent/known-headings.ts';
import { consentStates } from './consent/words.ts';

export const importResources = ['contacts', 'suppressions'] as const;
export type ImportKind = (typeof importResources)[number];

export const importStatuses = ['queued', 'processing', 'completed', 'failed', 'canceled'] as const;
export type ImportStatus = (typeof importStatuses)[number];

/** What a column of the file can be, besides `data.<key>`. */
export const columnFields = [
  'email',
  'phone',
  'first_name',
  'last_name',
  'country_code',
  'source',
  'reason',
  'active',
  'expires_at',
  'diagnostic',
  'status_code',
] as const;
export type ColumnField = (typeof columnFields)[number];

/** What a column about subscriptions can be. Without a channel in its name, it is about both. */
export const consentFields = {
  subscribed: { channel: 'all', kind: 'positive' },
  subscribed_email: { channel: 'email', kind: 'positive' },
  subscribed_phone: { channel: 'phone', kind: 'positive' },
  unsubscribed: { channel: 'all', kind: 'inverse' },
  unsubscribed_email: { channel: 'email', kind: 'inverse' },
  unsubscribed_phone: { channel: 'phone', kind: 'inverse' },
  confirmed: { channel: 'all', kind: 'confirmed' },
  confirmed_email: { channel: 'email', kind: 'confirmed' },
  confirmed_phone: { channel: 'phone', kind: 'confirmed' },
  opted_out_at: { channel: 'all', kind: 'opted_out' },
  opted_out_at_email: { channel: 'email', kind: 'opted_out' },
  opted_out_at_phone: { channel: 'phone', kind: 'opted_out' },
  opted_in_at: { channel: 'all', kind: 'opted_in_at' },
  opted_in_at_email: { channel: 'email', kind: 'opted_in_at' },
  opted_in_at_phone: { channel: 'phone', kind: 'opted_in_at' },
  bounced: { channel: 'email', kind: 'bounced' },
  complained: { channel: 'email', kind: 'complained' },
} as const satisfies Record<string, ConsentHeading>;
const consentFieldNames = Object.keys(consentFields) as (keyof typeof consentFields)[];

/** How long failed rows are kept, in days. */
export const ERROR_DAYS = 30;
/** Maximum number of bytes of failed rows that one import keeps. Later failed rows are only counted. */
export const MAX_ERROR_BYTES = 32 * 1024 * 1024;

/** Maximum number of bytes that one import keeps of rows that were imported without some of their cells. */
export const MAX_WARNING_BYTES = 8 * 1024 * 1024;

const MAX_LISTS = 100;
const MAX_MAPPED = 500;
const MAX_COLUMN_NAME = 200;
const MAX_WORDS = 100;

const target = z
  .string()
  .regex(
    new RegExp(`^(${[...columnFields, ...consentFieldNames].join('|')}|data\\..{1,200})$`),
    'must be a field or data.<key>',
  );

/** The kinds of columns whose yes and no can be exchanged. */
const invertible: readonly string[] = ['positive', 'inverse'];

const consentTarget = z
  .strictObject({
    field: z.enum(consentFieldNames),
    words: z
      .record(z.string().min(1).max(MAX_COLUMN_NAME), z.enum(consentStates).nullable())
      .refine((words) => Object.keys(words).length <= MAX_WORDS, `must have at most ${MAX_WORDS} words`)
      .optional()
      .meta({ description: 'The meanings of words of the column; null: such a cell says nothing.' }),
    invert: z.boolean().optional().meta({
      description: 'Whether yes means no, and no means yes. For subscribed… and unsubscribed… only.',
    }),
  })
  .refine(({ field, invert = false }) => !invert || invertible.includes(consentFields[field].kind), {
    path: ['invert'],
    message: 'is only for fields that begin with subscribed or unsubscribed',
  });

const mappedTo = z.union([target, consentTarget]).nullable();
/** What a column is mapped to. */
export type MappedTo = z.output<typeof mappedTo>;

/** What a whole file can be. Nothing in a file subscribes people who have opted out, so it is never a yes. */
const wholeFileStates = consentStates.filter((state) => state !== 'subscribed') as [
  Exclude<(typeof consentStates)[number], 'subscribed'>,
];

/** The options, as clients send them in JSON and as the import resource shows them. */
export const importOptions = z.strictObject({
  list_ids: z
    .array(z.int().positive())
    .max(MAX_LISTS)
    .default([])
    .meta({ description: 'Every contact of the file is added to these lists.' }),
  mapping: z
    .record(z.string().max(MAX_COLUMN_NAME), mappedTo)
    .refine((mapping) => Object.keys(mapping).length <= MAX_MAPPED, `must have at most ${MAX_MAPPED} columns`)
    .default({})
    .meta({
      description:
        'The meaning of columns, by their names in the file: a field such as `email`, `data.<key>`, or null to ignore the ' +
        'column. A column about subscriptions can also be an object with the field, the meanings of its words, and ' +
        '`invert`. Other columns are recognized by their names.',
    }),
  update_existing: z.boolean().default(true).meta({
    description:
      'Whether rows change existing contacts. If false, such rows count as unchanged. A no still ends a subscription.',
  }),
  subscribe: z.boolean().default(true).meta({
    description: 'Whether new contacts are subscribed. Addresses that have unsubscribed never are.',
  }),
  status: z
    .enum(wholeFileStates)
    .nullable()
    .default(null)
    .meta({
      description:
        'What all people of the file are, such as `unsubscribed` for an export of unsubscribed people. Null: the columns ' +
        'of the file say it.',
    }),
  country_code: z
    .string()
    .regex(/^[A-Z]{2}$/, 'must be a two-letter country code (ISO 3166-1)')
    .refine((code) => readCountry(code) === code, 'is not a country of ISO 3166-1')
    .nullish()
    .meta({
      description:
        'The country of phone numbers in national form, in rows that do not name one. For example `DE`.',
    }),
  reason: z
    .enum(suppressionReasons)
    .nullish()
    .meta({
      description:
        'Of suppressions: why the addresses are suppressed whose rows do not say it. By default, the headings of other ' +
        'services’ lists, a mail server’s reply in the row, or else `manual`.',
    }),
  encoding: z
    .string()
    .max(40)
    .transform((label, context) => {
      const encoding = encodingOf(label);
      if (encoding !== null) return encoding;
      context.addIssue({ code: 'custom', message: `must be one of ${csvEncodings.join(', ')}` });
      return z.NEVER;
    })
    .pipe(z.enum(csvEncodings))
    .nullish()
    .meta({
      description:
        'The encoding of the file, such as `windows-1251`, `shift_jis` or `macintosh`. Without it, the encoding is ' +
        'detected: `encoding` of the import says which one is used.',
    }),
  dry_run: z
    .boolean()
    .default(false)
    .meta({ description: 'Counts what the import would do, and changes nothing.' }),
});
export type ImportOptions = z.output<typeof importOptions>;

/** The text field `options`. A text that is not JSON is a 422 on the field. */
const optionsText = z
  .string()
  .optional()
  .transform((text, context): unknown => {
    try {
      return text === undefined || text === '' ? {} : JSON.parse(text);
    } catch {
      const message = `must be a JSON object: ${describeJsonFault(text ?? '')}`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }
  })
  .pipe(importOptions)
  .superRefine((options, context) => {
    const errors: ValidationErrors = {};
    findUnstorable(options, 'options', errors);
    for (const [path, [message]] of Object.entries(errors)) {
      const rest = path.slice('options.'.length);
      context.addIssue({ code: 'custom', path: rest === '' ? [] : [rest], message: message ?? '' });
    }
  })
  .meta({ description: 'A JSON object as text. See `options` of the import.', type: 'string' });

export const createImportBody = z.strictObject({
  resource: z
    .enum(importResources)
    .default('contacts')
    .meta({ description: 'What the rows of the file contain.' }),
  options: optionsText,
});
export type CreateImportBody = z.output<typeof createImportBody>;

export const importParams = z.strictObject({ id: idParam });

export const listImportsQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(importStatuses).optional(),
  resource: z.enum(importResources).optional(),
});
export type ListImportsQuery = z.output<typeof listImportsQuery>;

const importError = z.object({
  row: z
    .int()
    .nullable()
    .meta({
      description:
        'Counted as in a spreadsheet: the header is row 1. Null for errors of the whole file, which come first: why it ' +
        'failed, and as `errors_left_out` which failed rows are neither here nor in the file of `errors_url`.',
    }),
  column: z.string().nullable(),
  code: z.string(),
  message: z.string(),
});
export type ImportError = z.infer<typeof importError>;

const importColumn = z
  .object({
    name: z.string(),
    used_as: z.string().nullable().meta({
      description: 'A field, such as `email` or `unsubscribed_email`, or `data.<key>`. Null: it is ignored.',
    }),
    examples: z
      .array(z.string())
      .meta({ description: 'Up to three values of the first rows. Kept for 30 days.' }),
    words: z.record(z.string(), z.enum(consentStates).nullable()).nullable().meta({
      description:
        'What words of a column about subscriptions mean, up to ten; null: such a cell says nothing.',
    }),
    ignored_because: z
      .string()
      .nullable()
      .meta({ description: 'Why the column is ignored, or does not count as one about subscriptions.' }),
  })
  .meta({ id: 'ImportColumn' });
export type ImportColumn = z.infer<typeof importColumn>;

const when = z.iso.datetime().nullable();

const usedEncoding = z.object({
  name: z.enum(csvEncodings),
  detected: z.boolean().meta({ description: 'False if `options.encoding` named it.' }),
  samples: z.array(z.string()).meta({
    description:
      'Up to three values that are not plain ASCII, as they are read. If they are wrong, name the encoding in ' +
      '`options.encoding`. Kept for 30 days.',
  }),
});
export type UsedEncoding = z.infer<typeof usedEncoding>;

export const importResource = z
  .object({
    id: z.int(),
    resource: z.enum(importResources),
    filename: z.string(),
    status: z.enum(importStatuses),
    total_rows: z.int().nullable().meta({ description: 'Null until the rows have been counted.' }),
    processed_rows: z.int().meta({ description: 'The sum of the five counts.' }),
    created_count: z.int(),
    updated_count: z.int(),
    unchanged_count: z.int(),
    duplicate_count: z.int().meta({ description: 'Rows whose address is in an earlier row.' }),
    failed_count: z.int(),
    columns: z.array(importColumn).nullable().meta({
      description:
        'How each column is read, in the order of the file. Empty until the file has been looked through; null in lists.',
    }),
    warning_count: z.int().meta({
      description:
        'Rows that were imported without some of their cells. They count in one of the other counts, too.',
    }),
    warnings: z.array(importError).meta({
      description:
        'The cells that could not be read, and without which their rows were imported: the first 100. Kept for 30 days. ' +
        'If more were found than are kept, the first entry, `warnings_left_out`, counts them; its `row` is null.',
    }),
    encoding: usedEncoding.nullable().meta({ description: 'Null until it is known.' }),
    errors: z.array(importError).meta({ description: 'The first 100. Kept for 30 days.' }),
    errors_url: z
      .url()
      .nullable()
      .meta({
        description:
          'A CSV file of the failed rows and of those with warnings, with their original columns and `error`, up to 32 MB. ' +
          'If there are more, the `error` of the first row says how many are missing. It needs the API key. Null if there ' +
          'are no such rows.',
      }),
    options: importOptions,
    created_at: z.iso.datetime(),
    started_at: when,
    finished_at: when,
  })
  .meta({ id: 'Import' });
export type Import = z.infer<typeof importResource>;
