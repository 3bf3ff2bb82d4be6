/** A letter or a text, as the API has it. */
import type { Schemas } from '../../api/client.ts';

export type Design = Schemas['Design'];
export type Section = Schemas['DesignSection'];
export type PlainSection = Schemas['PlainSection'];
export type Theme = Schemas['DesignTheme'];

interface OwnFields {
  subject?: string | null;
  preheader?: string | null;
  body?: string | null;
  design?: Design | null;
  from_name?: string | null;
  from_email?: string | null;
  reply_to?: string | null;
  /** Sample values by names of variables. */
  variables?: Record<string, unknown> | null;
  /** The part that was replaced by the other one in this draft, and comes back by a click. Only drafts have it. */
  put_aside?: Pick<OwnFields, 'body' | 'design'> | null;
}

/** A content. Fields that the editor does not know stay as they are. */
export type Content = OwnFields & Record<string, unknown>;

/** What the API refused, by the path of the field, such as `design.sections.2.props.href`. */
export type FieldErrors = Record<string, readonly string[]>;

export interface ContentEditorProps {
  value: Content;
  onChange: (next: Content) => void;
  channel: 'email' | 'sms';
  /** `marketing`: the footer of campaigns and flows is added. */
  footer: 'none' | 'marketing';
  /** Names that exist only here, such as `event.data.plan` in a flow. */
  names?: readonly string[];
  /** The sender of the letter, as recipients see it, if it is known. */
  sender?: string | null;
  /** The sender can no longer be changed. */
  isSenderFixed?: boolean;
  errors?: FieldErrors;
}

const isGiven = (text: string | null | undefined): boolean => (text ?? '').trim() !== '';

/** Which part is sent. The API decides in the same way; `content_from` breaks the tie if both are given. */
export function sentPart({ body, design, content_from: from }: Content): 'body' | 'design' {
  if (!design) return 'body';
  if (!isGiven(body)) return 'design';
  return from === 'body' ? 'body' : 'design';
}

/** Puts one part aside, and takes the other one. @param next the part to take */
export const withPart = (content: Content, next: { body: string } | { design: Design }): Content => ({
  ...content,
  ...('body' in next
    ? { body: next.body, design: null, put_aside: { design: content.design ?? null } }
    : { body: null, design: next.design, put_aside: { body: content.body ?? null } }),
});

/** A content, or a step with one, as it is sent to be saved. */
export function withoutDraftFields<C extends object>(content: C): C {
  const { put_aside: _, ...saved } = content as C & Pick<Content, 'put_aside'>;
  return saved as C;
}

/** The fields of a template that the editor of its content changes. */
export const LETTER_FIELDS = [
  'subject',
  'preheader',
  'body',
  'design',
  'from_name',
  'from_email',
  'reply_to',
  'variables',
] as const;
