/**
 * The forms of a content: what its author wrote, the compiled version that a send pins, and what is rendered for a
 * message.
 */
import type { Design } from './design.ts';
import type { Channel } from '../../terms/channels/index.ts';
import type { ReadLimit } from './render-outputs.ts';

/** What a content uses of its brand. The names are those of the API's Brand, with the logo as a URL. */
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
  /** A section of a design, an object with a list of `sections`, or the props of a header or footer. Empty: none. */
  default_header: Record<string, unknown>;
  default_footer: Record<string, unknown>;
  /** The theme of designs without their own. Its values take precedence over the brand's colors and fonts. */
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

/** A content compiled once for all its recipients. The texts are valid Liquid. */
export interface CompiledContent {
  subject: string | null;
  preheader: string | null;
  /** A complete HTML document with preheader and footer; null for an SMS. */
  html: string | null;
  /** The text alternative, or the text of an SMS. */
  text: string | null;
  /** Paths of the contact's values that the content uses, such as `first_name` or `data.plan`, sorted. */
  paths: readonly string[];
  /**
   * All names that the content uses, sorted: `contact.first_name`, `event.amount`, `unsubscribe_url`, `coupon`. A name
   * that Carillon does not define (see `isServiceName`) is a variable of the template.
   */
  variables: readonly string[];
  /** Maximum number of segments of an SMS, if each value has its maximum length; null for an email. */
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

/** An error in a content, or something that could be improved. */
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
  | 'foreign_tag'
  | 'script';

/** The values of one message. Only own properties are read. An unknown name renders as an empty text. */
export interface ContentValues {
  contact: Record<string, unknown>;
  event?: Record<string, unknown> | null;
  brand: Record<string, unknown>;
  campaign: { id: number; name: string } | null;
  unsubscribe_url: string | null;
  preferences_url: string | null;
  /** The template's own variables, as top-level names. The names above take precedence. */
  variables: Record<string, unknown>;
}

export interface RenderedContent {
  subject: string | null;
  html: string | null;
  text: string | null;
}

/** A content to render: a version, or a draft, which has no id. */
export type Renderable = Pick<CompiledContent, 'subject' | 'html' | 'text'> & {
  id: number | null;
  /** Accounts take turns in the threads. */
  accountId: number;
};

/** A text that has outputs and no tags, divided at them. */
export interface DividedText {
  /** The constant parts: output n goes between parts n and n + 1. */
  parts: readonly string[];
  /** The source of each output, such as `contact.first_name | upcase`. */
  outputs: readonly string[];
  /**
   * Evaluates the outputs, escaped as by `render`.
   * @param limit shared by the messages of a batch; by default the message has its own
   * @returns null if the values are so large that the message has to be rendered as a whole, in a thread
   * @throws RenderError
   */
  render(values: ContentValues, limit?: ReadLimit): string[] | null;
}

/** A content without tags. Joining its parts and outputs gives what `render` returns. */
export interface DividedContent {
  subject: DividedText | null;
  html: DividedText | null;
  text: DividedText | null;
}

/** Maximum length of the rendered HTML or text, in UTF-16 units. */
const MAX_RENDERED = 2 * 1024 * 1024;

/** A content could not be rendered for one message: it took too long, or the result is too long. */
export class RenderError extends Error {}

/** @throws RenderError if a result of this many UTF-16 units is too long */
export function checkRenderedLength(length: number): void {
  if (length > MAX_RENDERED) throw new RenderError('the content is longer than 2 MB');
}

/** A message took too long or too much memory, because of what it contains or because the machine is busy. */
export class RenderTimeoutError extends RenderError {}

/** Other messages of the batch used up the time, or crashed the thread. This says nothing about the message. */
export class NotRenderedError extends RenderError {}

/**
 * No thread could be started, the account already has too much work waiting for threads, or the engine is closed. This
 * says nothing about the content.
 */
export class ContentEngineUnavailableError extends Error {}

export interface ContentEngine {
  /**
   * Compiles a content in a thread.
   * @returns the content, or null and the problems that make it unusable
   * @throws ContentEngineUnavailableError
   */
  compile(
    source: ContentSource,
    accountId: number,
  ): Promise<{ content: CompiledContent | null; problems: Problem[] }>;
  /**
   * Compiles a content and finds its problems: first those that make it unusable, then all others.
   * @param known names of the template's variables that have a value
   * @throws ContentEngineUnavailableError
   */
  check(source: ContentSource, known: readonly string[], accountId: number): Promise<Problem[]>;
  /**
   * Renders a content: synchronously if it has only outputs; in a thread if it has tags, many filters or large values.
   * @throws RenderError (or rejects with it)
   * @throws ContentEngineUnavailableError
   */
  render(content: Renderable, values: ContentValues): RenderedContent | Promise<RenderedContent>;
  /**
   * Renders a content for several messages.
   * @returns for each message its content or the error. A message that the batch had no time left for has a
   *   NotRenderedError, but never all of them.
   * @throws ContentEngineUnavailableError
   */
  renderBatch(
    content: Renderable,
    values: readonly ContentValues[],
  ): (RenderedContent | RenderError)[] | Promise<(RenderedContent | RenderError)[]>;
  /**
   * Divides a content at its outputs, so that a sender encodes the constant parts once for all recipients. Cached for
   * as long as the caller keeps the content object.
   * @returns null if the content has tags, or an output whose effect is not confined to its own place
   */
  divide(content: Renderable): DividedContent | null;
  /** Ends the threads. Pending calls are rejected. */
  close(): Promise<void>;
}
