// Places of drafts have the names that their editors show, so that people know what a merge or a question is about.
import { expect, it } from '@jest/globals';
import { nameOfField, namesOf } from '../../../console/src/editors/draft/field-names.ts';
import type { Path } from '../../../console/src/editors/draft/merging.ts';

const at = (index: number, to = index + 1) => ({ at: index, to });

it.each<[string, Path]>([
  ['Subject', ['template_attributes', 'subject']],
  ['Text of section 3', ['design', 'sections', at(2), 'props', 'html']],
  ['Link of section 1', ['design', 'sections', at(0), 'props', 'href']],
  ['Section 2', ['design', 'sections', at(1)]],
  ['Sections 2 to 4', ['design', 'sections', at(1, 4)]],
  ['Sections', ['design', 'sections', at(1, 1)]],
  ['Colors and fonts', ['design', 'theme', 'bg_color']],
  ['Filter 1', ['filters', at(0)]],
  ['Filters', ['filters', at(0, 0)]],
  ['List', ['trigger_attributes', 'contact_list_id']],
  ['Order of the steps', ['steps', 'order']],
  ['Later field', ['later_field']],
])('names %s', (name, path) => {
  expect(nameOfField(path)).toBe(name);
});

it('names several places once each, and counts the rest', () => {
  const paths: Path[] = [['subject'], ['subject'], ['preheader'], ['name'], ['goal'], ['filters']];
  expect(namesOf({}, paths, [])).toBe('Subject, Preheader, Name and 2 more');
  expect(namesOf({}, paths.slice(0, 3), [])).toBe('Subject and Preheader');
});
