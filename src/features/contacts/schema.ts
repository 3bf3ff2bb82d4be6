import { z } from 'zod';
import { ADDRESS_PATTERN } from '../../delivery/terms/addresses/email.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import { oneLine } from '../../platform/input/one-line.ts';
import { filterTime } from '../../platform/db/filter-time.ts';
import { idParam, pageQuery } from '../../platform/db/paging.ts';

/** The largest `data` of a contact, in bytes of JSON. */
export const MAX_DATA_BYTES = 64 * 1024;
/** The largest `data` of a channel, in bytes of JSON. */
export const MAX_CHANNEL_DATA_BYTES = 4 * 1024;
/** Maximum depth of nested objects and arrays in `data`. `data` itself is level 1. */
export const MAX_DATA_LEVELS = 20;
/** Maximum number of lists in one request. */
const MAX_LISTS = 1_000;
const MAX_NAME_LENGTH = 255;
const MAX_SOURCE_LENGTH = 100;
const MAX_ADDRESS_LENGTH = 320;
const MAX_SEARCH_LENGTH = 100;

export const channelKinds = ['email', 'phone'] as const;
export type ChannelKind = (typeof channelKinds)[number];
/** The channel of each kind. */
export const channelOfKind = { email: 'email', phone: 'sms' } as const satisfies Record<ChannelKind, Channel>;

export const enrichmentStatuses = ['enriched', 'not_enriched'] as const;
export const verificationStatuses = ['verified', 'suppressed', 'unverified'] as const;

const when = z.iso.datetime();
const jsonObject = z.record(z.string(), z.unknown());

export const channelResource = z
  .object({
    id: z.int(),
    contact_id: z.int(),
    kind: z.enum(channelKinds),
    value: z.string().meta({ description: 'The email address, or the phone number in E.164 form.' }),
    subscribed: z.boolean(),
    verified: z.boolean(),
    opt_in_at: when.nullable(),
    opt_out_at: when.nullable(),
    sent_count: z.int(),
    fail_count: z.int(),
    data: jsonObject,
    created_at: when,
    updated_at: when,
  })
  .meta({ id: 'Channel' });
export type ContactChannel = z.infer<typeof channelResource>;

export const contactResource = z
  .object({
    id: z.int(),
    uuid: z.uuid(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    source: z.string().nullable(),
    country_code: z.string().nullable(),
    data: jsonObject,
    subscribed_phone: z.boolean(),
    subscribed_email: z.boolean(),
    verification_status: z.enum(verificationStatuses).meta({
      description:
        '`suppressed` while an address of the contact has an active suppression; else `verified` if validation found an ' +
        'address deliverable.',
    }),
    enrichment_status: z.enum(enrichmentStatuses).meta({
      description: 'As your requests set it: the service itself does not enrich contacts.',
    }),
    list_ids: z.array(z.int()),
    last_interacted_at: when
      .nullable()
      .meta({ description: 'The last open, click, reply or tracked event.' }),
    created_at: when,
    updated_at: when,
    channels: z.array(channelResource),
  })
  .meta({ id: 'Contact' });
export type Contact = z.infer<typeof contactResource>;

/**
 * Fields that requests may contain, and that are ignored, so that a client can send a contact back as it received it.
 */
export const contactReadOnlyFields = [
  'id',
  'uuid',
  'verification_status',
  'last_interacted_at',
  'created_at',
  'updated_at',
];

/** Fields of a channel that a client may send back in `channels_attributes`, and that are ignored. */
const channelReadOnly = Object.fromEntries(
  [
    'contact_id',
    'verified',
    'opt_in_at',
    'opt_out_at',
    'sent_count',
    'fail_count',
    'created_at',
    'updated_at',
  ].map((name) => [name, z.unknown().optional().meta({ description: 'Read-only: ignored.' })]),
);

const address = z.string().max(MAX_ADDRESS_LENGTH);
const country = z
  .string()
  .regex(/^[A-Za-z]{2}$/, 'must be a two-letter country code (ISO 3166-1)')
  .transform((code) => code.toUpperCase())
  .meta({
    description:
      'ISO 3166-1 alpha-2. Phone numbers without a country code are read as numbers of this country.',
  });

const channelAttributes = z.strictObject({
  kind: z.enum(channelKinds),
  value: address,
  subscribed: z
    .boolean()
    .optional()
    .meta({
      description:
        '`true` subscribes, even after an opt-out. `false` unsubscribes. If you leave it out, a new address is subscribed ' +
        'unless it has unsubscribed from the brand before.',
    }),
  data: jsonObject.optional().meta({
    description: `Any JSON object, at most ${MAX_CHANNEL_DATA_BYTES / 1024} KB. It is patched by key, like the contact’s.`,
  }),
  ...channelReadOnly,
});

const changedChannel = z.strictObject({
  id: z.int().positive().optional().meta({ description: 'A channel of this contact, instead of `kind`.' }),
  ...channelAttributes.shape,
  kind: z.enum(channelKinds).optional(),
  value: address.optional().meta({ description: 'If you leave it out, the address does not change.' }),
  _destroy: z.boolean().optional().meta({ description: 'Removes the channel.' }),
});

const sentBack = (what: string) =>
  z
    .boolean()
    .nullish()
    .meta({
      description:
        `\`false\` unsubscribes ${what}. \`true\` is ignored, because a copy may be older than an opt-out: ` +
        '`channels_attributes` subscribes.',
    });

/** A channel as a client received it. Only its `subscribed: false` has an effect. */
const copiedChannel = z.strictObject({
  ...channelReadOnly,
  id: z.int().nullish(),
  kind: z.enum(channelKinds).nullish(),
  value: address.nullish(),
  subscribed: sentBack('the channel'),
  data: jsonObject.nullish(),
});
export type CopiedChannel = z.output<typeof copiedChannel>;

/** A contact has one channel of each kind; a request that names one more often is refused with its place. */
const MAX_COPIED_CHANNELS = 10;

const fields = {
  first_name: oneLine(MAX_NAME_LENGTH).nullish(),
  last_name: oneLine(MAX_NAME_LENGTH).nullish(),
  email: address.optional().meta({
    description:
      'Creates or changes the email channel, with an opt-in. It never subscribes an address that has unsubscribed.',
    pattern: ADDRESS_PATTERN,
  }),
  phone: address.optional().meta({
    description: 'In E.164 form, or in national form with `country_code`. Works like `email`.',
  }),
  source: oneLine(MAX_SOURCE_LENGTH).nullish(),
  country_code: country.nullish(),
  enrichment_status: z.enum(enrichmentStatuses).optional().meta({
    description: '`enriched`: you have completed the contact with data of another service.',
  }),
  data: jsonObject.optional().meta({
    description: `Any JSON object, at most ${MAX_DATA_BYTES / 1024} KB. It is patched by key: a key that is null is removed, and keys that are left out stay.`,
  }),
  subscribed_email: sentBack('the email channel'),
  subscribed_phone: sentBack('the phone channel'),
  channels: z
    .array(copiedChannel)
    .max(MAX_COPIED_CHANNELS)
    .nullish()
    .meta({
      description:
        'The channels as you received them. `subscribed: false` unsubscribes a channel; any other change is a 422, ' +
        'because `channels_attributes` changes channels.',
    }),
};

export const createContactBody = z.strictObject({
  ...fields,
  list_ids: z
    .array(z.int().positive())
    .max(MAX_LISTS)
    .optional()
    .meta({ description: 'Adds the contact to these lists.' }),
  channels_attributes: z.array(channelAttributes).max(channelKinds.length).optional(),
});
export type CreateContactBody = z.output<typeof createContactBody>;

export const changeContactBody = z.strictObject({
  ...fields,
  list_ids: z
    .array(z.int().positive())
    .max(MAX_LISTS)
    .optional()
    .meta({ description: 'Replaces the lists of the contact.' }),
  channels_attributes: z.array(changedChannel).max(channelKinds.length).optional(),
});
export type ChangeContactBody = z.output<typeof changeContactBody>;

export const contactParams = z.strictObject({ id: idParam });

const flag = z.enum(['true', 'false']);

export const listContactsQuery = z.strictObject({
  ...pageQuery,
  email: address.optional().meta({ description: 'The whole address. Case does not matter.' }),
  phone: address.optional().meta({
    description:
      'The whole number, however it is written. Without a country code, the numbers of all countries are found that are ' +
      'written so.',
  }),
  list_id: pageQuery.after.meta({ description: 'Members of this list.' }),
  segment_id: pageQuery.after.meta({ description: 'Members of this segment.' }),
  subscribed: flag
    .optional()
    .meta({ description: 'Contacts with a subscribed channel (`true`), or without one (`false`).' }),
  verification_status: z.enum(verificationStatuses).optional(),
  source: z.string().max(MAX_SOURCE_LENGTH).optional(),
  created_after: filterTime.optional(),
  created_before: filterTime.optional(),
  search: z
    .string()
    .trim()
    .min(1)
    .max(MAX_SEARCH_LENGTH)
    .optional()
    .meta({
      description:
        'The beginning of the email address, of the phone number (at least 4 digits), of the first name, the last name or ' +
        'the full name. Case does not matter.',
    }),
});
export type ListContactsQuery = z.output<typeof listContactsQuery>;
