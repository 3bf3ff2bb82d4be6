/** What the API says about a content, in sentences that name sections and fields as the editor does. */
import { fieldOf as nameOfProp } from '../draft/field-names.ts';
import type { Section } from './content.ts';
import { type SectionPath, sectionAt, SECTION_NAMES } from './sections.ts';

/** `code` is missing if a send is refused. */
interface Said {
  field: string;
  code?: string | undefined;
  message: string;
}

type Sections = { sections?: readonly Section[] | undefined } | null | undefined;

const IN_SECTION = /^design\.sections\.(\d+)(?:\.props\.columns\.(\d+)\.sections\.(\d+))?(?:\.(.+))?$/;

/** The sections of a kind in the order in which they are read. */
const ofKind = (sections: readonly Section[], type: Section['type']): Section[] =>
  sections.flatMap((section): Section[] => [
    ...(section.type === type ? [section] : []),
    ...(section.type === 'columns'
      ? section.props.columns.flatMap((column) => ofKind(column.sections, type))
      : []),
  ]);

const lower = (name: string) => (name === 'HTML' ? name : name.toLowerCase());
const upper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

interface DesignField {
  section: Section;
  /** `button 2`, or `the button` if it is the only one. */
  name: string;
  /** The field in the section, such as `href` or `links.0.url`; '' for the section itself. */
  prop: string;
}

function designFieldOf(field: string, design: Sections): DesignField | null {
  const found = IN_SECTION.exec(field);
  if (!found || !design?.sections) return null;
  const { sections } = design;
  const [, index, column, inner, rest = ''] = found;
  const path: SectionPath =
    inner === undefined ? [Number(index)] : [Number(index), Number(column), Number(inner)];
  const section = sectionAt(sections, path);
  if (!section) return null;
  const all = ofKind(sections, section.type);
  const kind = lower(SECTION_NAMES[section.type]);
  const name = all.length === 1 ? `the ${kind}` : `${kind} ${all.indexOf(section) + 1}`;
  return { section, name, prop: rest.replace(/^(?:props|styles)\./, '') };
}

/** `Link of button 2`, or `Link 3 of the social links`. */
function propName({ section, name, prop }: DesignField): string {
  if (prop === '' || (prop === 'html' && section.type !== 'footer')) return upper(name);
  const link = /^links\.(\d+)/.exec(prop);
  if (link) return `Link ${Number(link[1]) + 1} of ${name}`;
  return `${nameOfProp(prop.split('.'))} of ${name}`;
}

const MISSING: Readonly<Record<string, string>> = {
  href: 'has no link',
  src: 'has no image file or address',
  alt: 'has no description',
  label: 'has no label',
};

/** Messages of the API that continue a sentence which begins with the name of the field: `is required`. */
const GOES_ON = /^(?:is|are|has|have|must|may|can|cannot|needs|contains|names|leads|points|does|exceeds)\b/;

/** Only source has lines. The lines of a text in the editor are not those of its HTML. */
const withoutLine = (message: string) => message.replace(/\bline \d+: /, '');

function faultText(at: DesignField, { code, message }: Said): string {
  const missing = MISSING[at.prop];
  if (missing !== undefined && (code === 'missing_alt' || /^is (?:empty|required)$/.test(message))) {
    return `${upper(at.name)} ${missing}.`;
  }
  return joined(propName(at), at.section.type === 'html' ? message : withoutLine(message));
}

const ended = (text: string) => (/[.!?:]$/.test(text) ? text : `${text}.`);

function joined(name: string, message: string): string {
  const quoted = /^("[\s\S]*") (?=[a-z])/.exec(message)?.[1];
  const bare = quoted === undefined ? message : message.slice(quoted.length + 1);
  if (!GOES_ON.test(bare)) return ended(`${name}: ${message}`);
  return ended(quoted === undefined ? `${name} ${bare}` : `${name}, ${quoted}, ${bare}`);
}

const BY_CODE: Readonly<Record<string, string>> = {
  missing_unsubscribe_link:
    'The letter has no link to unsubscribe. Campaigns and flows add one; for other messages, set a link to the value “Unsubscribe link”.',
  missing_physical_address: 'The brand has no postal address, which campaigns and flows must show.',
};

const WHOLE = new Set(['body', 'design']);

function ofWhole(message: string): string {
  if (/^(?:has|there is) no content$/.test(message)) return 'There is no content yet.';
  return GOES_ON.test(message) ? joined('The content', message) : ended(upper(message));
}

/** Returns a sentence without names of the API. @param design the design that the message is about */
export function problemText(said: Said, design: Sections): string {
  const { field, code, message } = said;
  const known = code === undefined ? undefined : BY_CODE[code];
  if (known !== undefined) return known;
  const at = designFieldOf(field, design);
  if (at) return faultText(at, said);
  if (WHOLE.has(field)) return ofWhole(message);
  return joined(nameOfProp(field.split('.')), withoutLine(message));
}
