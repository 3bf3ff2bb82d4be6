/** Statements whose text depends on the request: a few examples of each, which `statements.ts` writes with the others. */
import { conditionsOf, listSql } from '../../src/features/contacts/list.ts';
import { pageSql, type PageShape } from '../../src/features/campaigns/run/page-sql.ts';
import { parseFilters } from '../../src/features/segments/parse.ts';
import { membersSql } from '../../src/features/segments/reads.ts';
import { writeSql } from '../../src/features/segments/sql.ts';

interface Example {
  /** Its file in `docs/sql`. */
  file: string;
  /** The file that composes it. */
  from: string;
  does: string;
  /** As in `defineStatement`. */
  parameters: readonly string[];
  text: string;
}

const contacts = conditionsOf(
  { accountId: 1, brandId: 2 },
  {
    list_id: 7,
    subscribed: 'true',
    verification_status: 'verified',
    search: 'ada',
  },
);

/** Members bought twice in a month, are not on a free plan, and have an address at example.com. */
const filters = [
  {
    name: 'event.order_placed',
    predicate: 'did',
    value: { at_least: 2, within: { count: 30, unit: 'days' } },
  },
  { name: 'data.plan', predicate: 'not_eq', value: 'free' },
  { name: 'email', predicate: 'end', value: '@example.com' },
];

function segmentSql(): string {
  const { conditions, problems } = parseFilters(filters);
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  const context = { brandId: 2, asOf: new Date(0), few: false, firstParameter: 2 };
  return membersSql(writeSql(conditions, { ...context, eventNames: new Map([['order_placed', 3]]) }).sql);
}

const plain: PageShape = {
  channel: 'email',
  hasEarlier: false,
  plusAddresses: false,
  frequencyCap: null,
  localTime: false,
  ab: false,
  firstParameter: 4,
};
const ofCampaign = [
  'bigint: the brand',
  'bigint: the last contact of the page before',
  'bigint: the last contact of this page',
  'bigint: the campaign',
  'bigint: the account',
  'timestamp with time zone: when the recipients are due',
  'integer: how many messages a block has',
  'integer: the number of the next block',
  'bigint: the number of recipients of the audience',
  'bigint: the first message of the campaign',
  'double precision[]: the shares of the variants, added up',
  'jsonb: when recipients in each time zone are due',
];
const ids = 'c.id > $2 and c.id <= $3';

export const examples: readonly Example[] = [
  {
    file: 'features/contacts/list_contacts.sql',
    from: 'src/features/contacts/list.ts',
    does: 'A page of verified contacts of a list, found by the beginning of their names.',
    parameters: [
      'bigint: the brand',
      'bigint: the list',
      'boolean: whether they are subscribed',
      'text: the pattern of the names',
      'text[]: the patterns of the email',
      'text: the regular expression of the phone number',
    ],
    text: listSql(contacts, { number: 1, limit: 50, offset: 0, after: 1_000 }),
  },
  {
    file: 'features/segments/preview_segment.sql',
    from: 'src/features/segments/reads.ts',
    does: 'Contacts who bought twice in a month, are not on a free plan, and have an address at example.com.',
    parameters: [
      'bigint: the brand',
      'integer: the name of the event',
      'timestamp with time zone: the beginning of the period',
      'bigint: how often, at least',
      'text: the path of the data',
      'jsonb[]: values of the data',
      'text[]: the patterns of the email',
    ],
    text: segmentSql(),
  },
  {
    file: 'features/campaigns/run/snapshot_page.sql',
    from: 'src/features/campaigns/run/page-sql.ts',
    does: 'Writes the first page of recipients of an email to all contacts.',
    parameters: ofCampaign,
    text: pageSql(ids, plain),
  },
  {
    file: 'features/campaigns/run/snapshot_page_with_all_parts.sql',
    from: 'src/features/campaigns/run/page-sql.ts',
    does: 'Writes a later page, with variants, local times and a frequency cap.',
    parameters: ofCampaign,
    text: pageSql(ids, {
      ...plain,
      hasEarlier: true,
      plusAddresses: true,
      frequencyCap: { count: 3, per_seconds: 604_800 },
      localTime: true,
      ab: true,
    }),
  },
];
