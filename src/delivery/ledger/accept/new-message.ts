/** The columns of messages that callers set, and the types that derive from them. */
import type { RecipientKind } from '../../terms/letter.ts';
import type {
  Bounce,
  Channel,
  FailureCode,
  MessageClass,
  messageClasses,
  MessageStatus,
} from '../../terms/message.ts';

/** A column's type in SQL; `Value` is the type of its values. Nullable columns are optional. */
interface Column<Value> {
  readonly sqlType: string;
  readonly example?: Value;
}

const column = <Value>(sqlType: string): Column<Value> => ({ sqlType });

type ValueOf<C> = C extends Column<infer Value> ? Value : never;
type Values<Columns> = {
  [Name in keyof Columns as null extends ValueOf<Columns[Name]> ? never : Name]: ValueOf<Columns[Name]>;
} & {
  [Name in keyof Columns as null extends ValueOf<Columns[Name]> ? Name : never]?:
    ValueOf<Columns[Name]> | undefined;
};

/**
 * The columns of `messages` that a caller may set. The type {@link NewMessage}, the shape of the statement's input and
 * the list of inserted columns all derive from this list, so a new column needs one line here.
 */
export const messageColumns = {
  id: column<number>('bigint'),
  account_id: column<number>('bigint'),
  brand_id: column<number>('bigint'),
  channel: column<Channel>('text'),
  class: column<MessageClass>('smallint'),
  status: column<MessageStatus>('text'),
  test: column<boolean>('boolean'),
  segments: column<number | null>('smallint'),
  to_address: column<string>('text'),
  to_key: column<string>('text'),
  from_address: column<string | null>('text'),
  reply_to: column<string | null>('text'),
  subject: column<string | null>('text'),
  campaign_id: column<number | null>('bigint'),
  flow_id: column<number | null>('bigint'),
  template_id: column<number | null>('bigint'),
  content_version_id: column<number | null>('bigint'),
  tags: column<Record<string, string> | null>('jsonb'),
  /**
   * In the input: what the client requests. In the row: how the message is tracked, which also depends on
   * {@link TrackingDefaults}.
   */
  tracking: column<{ opens?: boolean | undefined; clicks?: boolean | undefined } | null>('jsonb'),
  idempotency_key: column<string | null>('text'),
  provider: column<string | null>('text'),
  // PostgreSQL reads 'now' as the start of the transaction, like now().
  sent_at: column<'now' | null>('timestamptz'),
  delivered_at: column<'now' | null>('timestamptz'),
  failure: column<{ code: FailureCode; message: string } | null>('jsonb'),
  bounce: column<Bounce | null>('jsonb'),
  /** Whether it answers mail that an inbox received; see `answered-mail.ts`. Never false: most messages lack it. */
  answers_mail: column<true | null>('boolean'),
};

export const contentColumns = {
  html: column<string | null>('text'),
  text: column<string | null>('text'),
  headers: column<Record<string, string> | null>('jsonb'),
};

/** Columns of `send_queue` that a caller may set. */
const queueColumns = {
  /** The sending domain of the sender's address; null for addresses of the service. */
  domain_id: column<number | null>('bigint'),
  /** The named provider of the domain or SMS sender; null: the account's first provider, or the default. */
  provider_id: column<number | null>('bigint'),
};

export const inputColumns = {
  ...messageColumns,
  ...contentColumns,
  ...queueColumns,
  /** The bare address of the sender if an email has no `from_address`. The account's sender name is added. */
  default_from: column<string | null>('text'),
  /** The types of the events that are written with the message, such as `sent` for the outcome of a test. */
  events: column<string[] | null>('jsonb'),
};

/**
 * Further columns that any message may have, and that few have. Only the function writes them, so that the statement for
 * ordinary messages stays short.
 */
export const rareColumns = {
  /** When it is to be sent, in the future: its queue row is due then. */
  scheduled_at: column<Date | null>('timestamptz'),
  send_key_id: column<number | null>('bigint'),
};

/** The idempotency key of a message, whose text is its `idempotency_key`. */
export const keyColumns = {
  /** The name under which the key is kept, from `keySpace`. */
  key_space: column<string | null>('text'),
  /** Of the request, in Base64. */
  fingerprint: column<string | null>('text'),
};

/** Additional columns of messages whose contents the sender renders. */
export const renderedColumns = {
  flow_run_id: column<number | null>('bigint'),
  flow_step_id: column<number | null>('integer'),
  contact_id: column<number | null>('bigint'),
};

/** Columns of their queue rows, in place of the size of a stored content. */
export const renderedQueueColumns = {
  /** Approximate bytes of the version. */
  version_bytes: column<number | null>('integer'),
};

/** Additional columns of the copies of a letter. */
export const letterColumns = {
  /** The id of its first copy. */
  letter_id: column<number | null>('bigint'),
  recipient_kind: column<RecipientKind | null>('text'),
};

/** What the statement needs to know of the letter, which has the content. */
export const wholeColumns = {
  has_html: column<boolean | null>('boolean'),
  /** Whether its body passes as a client wrote it. */
  is_raw: column<boolean | null>('boolean'),
  /** As `content_bytes` of the queue row. */
  whole_bytes: column<number | null>('integer'),
  /** As its `content_weight`. */
  whole_weight: column<number | null>('integer'),
  /** Of all files, not folded. */
  file_bytes: column<number | null>('integer'),
};

/** What sends the messages. Their class depends on it. */
export type MessageSource =
  | { class: typeof messageClasses.transactional }
  | { class: typeof messageClasses.flow; flow_id: number }
  | { class: typeof messageClasses.campaign; campaign_id: number };

/** A message to write, by column. Its id comes from {@link allocateMessageIds} or an id allocator. */
export type NewMessage = Omit<
  Values<typeof inputColumns & typeof rareColumns>,
  'class' | 'campaign_id' | 'flow_id'
>;

/** A message without a stored content: the sender renders it from `content_version_id`. */
export type NewRenderedMessage = Omit<NewMessage, keyof typeof contentColumns> &
  Values<typeof renderedColumns & typeof renderedQueueColumns>;

/** A copy of a letter, without the content, by column. */
export type LetterCopy = Omit<NewMessage, keyof typeof contentColumns> &
  Values<typeof letterColumns & typeof wholeColumns>;

export interface WrittenMessage {
  id: number;
  from_address: string | null;
  reply_to: string | null;
  tracking: { opens?: boolean; clicks?: boolean } | null;
  created_at: Date;
  /** The named provider whose share of the queue the message waits in; null: the provider in the settings. */
  provider_id: number | null;
}
