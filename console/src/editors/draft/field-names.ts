/** The places of contents, as editors label them. */
import type { DraftForm } from './draft.ts';
import type { Path, PathPart } from './merging.ts';

const NAMES: Readonly<Record<string, string>> = {
  name: 'Name',
  subject: 'Subject',
  preheader: 'Preheader',
  body: 'Text',
  design: 'Design',
  theme: 'Colors and fonts',
  from_name: 'Sender',
  from_email: 'Sender address',
  reply_to: 'Reply address',
  variables: 'Sample values',
  content_from: 'Text or design',
  put_aside: 'What is put aside',
  filters: 'Filters',
  goal: 'Goal',
  unknown: 'Messages that may have been lost',
  trigger: 'Who enters',
  trigger_attributes: 'Audience',
  contact_list_id: 'List',
  segment_id: 'Segment',
  exclude_list_ids: 'Excluded lists',
  exclude_segment_ids: 'Excluded segments',
  scheduled_at: 'Begins at',
  options: 'Sending',
  ab_test: 'A/B test',
  html: 'Text',
  label: 'Label',
  href: 'Link',
  src: 'Image',
  alt: 'Description',
  logo_url: 'Logo',
  height: 'Height',
  links: 'Links',
  columns: 'Columns',
  steps: 'Steps',
  order: 'Order of the steps',
};

/** `reply_to` as `Reply to`. */
const plain = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');

const isField = (part: PathPart): part is string => typeof part === 'string';

/** The name of the last field that has one. */
export function fieldOf(path: Path): string {
  const fields = path.filter(isField);
  const known = fields.findLast((field) => Object.hasOwn(NAMES, field));
  const last = fields.at(-1);
  if (known !== undefined) return NAMES[known] ?? known;
  return last === undefined ? 'Everything' : plain(last);
}

/** Numbers count from 1; none for a place where something was inserted. */
function numberText(part: PathPart | undefined): string | null {
  if (typeof part !== 'object' || !('at' in part) || part.to === part.at) return null;
  return part.to === part.at + 1 ? `${part.to}` : `${part.at + 1} to ${part.to}`;
}

/** Names the section in which a place is, and the field in it. */
function sectionName(path: Path): string | null {
  const outer = path.indexOf('sections');
  if (outer === -1) return null;
  const number = numberText(path[outer + 1]);
  if (number === null) return 'Sections';
  const section = number.includes(' ') ? `Sections ${number}` : `Section ${number}`;
  const rest = path.slice(outer + 2).filter((part) => part !== 'props');
  return rest.length === 0 ? section : `${fieldOf(rest)} of ${section.toLowerCase()}`;
}

function filterName(path: Path): string | null {
  const number = numberText(path[path.indexOf('filters') + 1]);
  if (!path.includes('filters') || number === null) return null;
  return number.includes(' ') ? `Filters ${number}` : `Filter ${number}`;
}

/** Names a place as the editor labels it, such as `Text of section 3`. */
export const nameOfField = (path: Path): string => sectionName(path) ?? filterName(path) ?? fieldOf(path);

/** The same, by the names of the editor first. */
export const nameIn =
  <Content>({ nameOf }: Pick<DraftForm<Content>, 'nameOf'>) =>
  (path: Path, versions: readonly Content[]): string =>
    nameOf?.(path, versions) ?? nameOfField(path);

const SHOWN = 3;

/** Names places in a sentence. */
export function namesOf<Content>(
  form: Pick<DraftForm<Content>, 'nameOf'>,
  paths: readonly Path[],
  versions: readonly Content[],
): string {
  const names = [...new Set(paths.map((path) => nameIn(form)(path, versions)))];
  const shown = names.slice(0, SHOWN);
  const more = names.length - shown.length;
  const all = more === 0 ? shown : [...shown, `${more} more`];
  const last = all.at(-1) ?? '';
  return all.length < 2 ? last : `${all.slice(0, -1).join(', ')} and ${last}`;
}
