/** What templates are made of, what a send pins of them, and what a message becomes. */
import type { Design } from './design.ts';
import type { Channel } from '../channels/index.ts';
import type { ReadLimit } from './render-outputs.ts';

/** What a content takes from its brand. Has the names of the API's Brand, with the logo as a URL. */
export interface BrandParts {
  company_name: string | null;
  physical_address: string | null;
  logo: string | null;
  brand_color: string | null;
  text_color: string | null;
  bg_color: string | null;
  font_heading: string | null;
  font_body: string | null;
  links: readonly { url: string; icon: string; title: string }[];
  /** A section of a design, a list of them in `sections`, or the props of a header or footer. Empty: none. */
  default_header: Record<string, unknown>;
  default_footer: Record<string, unknown>;
  /** The theme of designs that have none. Its values come before the brand's colors and fonts. */
  default_theme: Record<string, unknown>;
  /** The last line of each marketing SMS. */
  sms_stop_text?: string | null;
}

/** A content as its author wrote it. Texts are Liquid. */
export interface ContentSource {
  channel: Channel;
  subject: string | null;
  preheader: string | null;
  body: string | null;
  design: Design | null;
  /** Which of `body` and `design` counts: the one that was given last. */
  contentFrom: 'body' | 'design';
  brand: BrandParts;
  /** `marketing`, for campaigns and flows, adds the physical address and an unsubscribe link to an email. */
  footer: 'marketing' | 'none';
}

/** A content compiled once, for all its recipients. The texts are Liquid that is already checked. */
export interface CompiledContent {
  subject: string | null;
  preheader: string | null;
  /** A complete HTML document with preheader and footer; null for an SMS. */
  html: string | null;
  /** The text alternative, or the text of an SMS. */
  text: string | null;
  /** Paths of the contact's values that the content names, such as `first_name` or `data.plan`, sorted. */
  paths: readonly string[];
  /**
   * All names that the content reads, sorted: `contact.first_name`, `event.amount`, `unsubscribe_url`, `coupon`. What
   * is no name of the service (see `isServiceName`) is a variable of the template.
   */
  variables: readonly string[];
  /** The largest number of segments of an SMS, for values of their greatest length; null for an email. */
  segments: number | null;
}

/** What a sender needs of a row of `template_versions`. */
export interface VersionContent extends Omit<CompiledContent, 'variables'> {
  id: number;
  templateId: number;
  accountId: number;
  brandId: number;
  channel: Channel;
  fromName: string | null;
  fromEmail: string | null;
  replyTo: string | null;
}

/** Something that is wrong with a content, or should be better. */
export interface Problem {
  /** The field of the template, such as `subject` or `design.sections.2.props.href`. */
  field: string;
  code: ProblemCode;
  message: string;
}

export type ProblemCode =
  | 'missing_content'
  | 'liquid_error'
  | 'mjml_error'
  | 'too_long'
  | 'too_slow'
  | 'lost_liquid'
  | 'unknown_variable'
  | 'broken_link'
  | 'missing_unsubscribe_link'
  | 'missing_physical_address'
  | 'too_large'
  | 'missing_alt'
  | 'script';

/** The values of one message. Only own properties are read. An unknown name renders as an empty text. */
export interface ContentValues {
  contact: Record<string, unknown>;
  event?: Record<string, unknown> | null;
  brand: Record<string, unknown>;
  campaign: { id: number; name: string } | null;
  unsubscribe_url: string | null;
  preferences_url: string | null;
  /** Names of the template's own. They are top-level names, and the names above come first. */
  variables: Record<string, unknown>;
}

export interface RenderedContent {
  subject: string | null;
  html: string | null;
  text: string | null;
}

/** The content that is rendered: a version, or a draft without an id. */
export type Renderable = Pick<CompiledContent, 'subject' | 'html' | 'text'> & {
  id: number | null;
  /** Accounts take turns in the threads. */
  accountId: number;
};

/** A text that has outputs and no tags, divided at them. */
export interface DividedText {
  /** Constant texts: output n stands between parts n and n + 1. */
  parts: readonly string[];
  /** The source of each output, such as `contact.first_name | upcase`. */
  outputs: readonly string[];
  /**
   * Evaluates the outputs, escaped as `render` does it.
   * @param limit what the messages of a batch may read together; left out: the message has one of its own
   * @returns null if the values are so large that the message has to be rendered as a whole, in a thread
   * @throws RenderError
   */
  render(values: ContentValues, limit?: ReadLimit): string[] | null;
}

/** A content without tags. Its parts with its outputs between them are what `render` returns. */
export interface DividedContent {
  subject: DividedText | null;
  html: DividedText | null;
  text: DividedText | null;
}

/** The longest HTML or text that is rendered, in UTF-16 units. */
const MAX_RENDERED = 2 * 1024 * 1024;

/** A content that could not be rendered for one message: it took too long, or the result is too long. */
export class RenderError extends Error {}

/** @throws RenderError for a result of so many UTF-16 units */
export function checkRenderedLength(length: number): void {
  if (length > MAX_RENDERED) throw new RenderError('the content is longer than 2 MB');
}

/** A message took too long or too much memory, because of what it contains or because the machine is busy. */
export class RenderTimeoutError extends RenderError {}

/** Other messages of the batch took its time, or ended its thread. This says nothing about the message. */
export class NotRenderedError extends RenderError {}

/**
 * No thread could be started, too much of the account's work waits for threads, or the engine is closed. This says
 * nothing about the content.
 */
export class ContentEngineUnavailableError extends Error {}

export interface ContentEngine {
  /**
   * Compiles a content in a thread.
   * @returns null as `content` if there are problems. All of them make the content unusable.
   * @throws ContentEngineUnavailableError
   */
  compile(
    source: ContentSource,
    accountId: number,
  ): Promise<{ content: CompiledContent | null; problems: Problem[] }>;
  /**
   * Compiles a content and finds what its author should know: what makes it unusable, then all else.
   * @param known names of the template's variables that have a value
   * @throws ContentEngineUnavailableError
   */
  check(source: ContentSource, known: readonly string[], accountId: number): Promise<Problem[]>;
  /**
   * Renders a content. One that only has outputs is rendered at once, one that has tags, many filters or large values
   * in a thread.
   * @throws RenderError (or rejects with it)
   * @throws ContentEngineUnavailableError
   */
  render(content: Renderable, values: ContentValues): RenderedContent | Promise<RenderedContent>;
  /**
   * Renders a content for several messages.
   * @returns an error in the place of a message that could not be rendered: a NotRenderedError if the batch took too
   *   long before its turn, but never for all of them
   * @throws ContentEngineUnavailableError
   */
  renderBatch(
    content: Renderable,
    values: readonly ContentValues[],
  ): (RenderedContent | RenderError)[] | Promise<(RenderedContent | RenderError)[]>;
  /**
   * Divides a content at its outputs, so that a sender encodes the constant parts once for all recipients. Kept for as
   * long as the content is.
   * @returns null if the content has tags, or an output whose effect is not confined to its own place
   */
  divide(content: Renderable): DividedContent | null;
  /** Ends the threads. What is still waiting is rejected. */
  close(): Promise<void>;
}
