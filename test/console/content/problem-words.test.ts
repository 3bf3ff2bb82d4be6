// Problems of a content are sentences that name the section or field as the editor does.
import { describe, expect, it } from '@jest/globals';
import { problemText } from '../../../console/src/editors/content/problem-words.ts';
import type { Section } from '../../../console/src/editors/content/content.ts';

const button = { type: 'button', props: { label: 'Go', href: '' } } as const;
const sections: Section[] = [
  button,
  { type: 'image', props: { src: '', alt: '' } },
  {
    type: 'columns',
    props: { columns: [{ sections: [] }, { sections: [{ ...button, props: { label: '', href: '#' } }] }] },
  },
  { type: 'text', props: { html: '<p>{{ x</p>' } },
  { type: 'html', props: { html: '<p>\n</p>' } },
  { type: 'social', props: { links: [{ url: '', title: 'Us' }] } },
  { type: 'footer', props: {} },
];
const inner = 'design.sections.2.props.columns.1.sections.0';
const say = (field: string, message: string, code?: string) =>
  problemText({ field, message, code }, { sections });

describe('what is wrong in a section', () => {
  it.each([
    ['design.sections.0.props.href', 'is empty', 'Button 1 has no link.'],
    [`${inner}.props.href`, '"#" leads nowhere', 'Link of button 2, "#", leads nowhere.'],
    [`${inner}.props.label`, 'is required', 'Button 2 has no label.'],
    ['design.sections.1.props.src', 'is empty', 'The image has no image file or address.'],
    [
      'design.sections.3.props.html',
      'line 1: the address of a link is empty',
      'The text: the address of a link is empty.',
    ],
    [
      'design.sections.3.props.html',
      'cannot be used: line 1: output is not closed',
      'The text cannot be used: output is not closed.',
    ],
    [
      'design.sections.4.props.html',
      'line 2: an image has no alt text',
      'The HTML: line 2: an image has no alt text.',
    ],
    ['design.sections.5.props.links.0.url', 'is empty', 'Link 1 of the social links is empty.'],
    ['design.sections.6.props.html', 'cannot be used: x', 'Text of the footer cannot be used: x.'],
    ['design.sections.0.styles.padding', 'is too long', 'Padding of button 1 is too long.'],
    ['design.sections.0', 'contains an unknown name', 'Button 1 contains an unknown name.'],
  ])('at %s that it %j is said as %j', (field, message, sentence) => {
    expect(say(field, message)).toBe(sentence);
  });

  it('is named by the description where an image has none', () => {
    const text = say('design.sections.1.props.alt', 'an image has no alt text', 'missing_alt');
    expect(text).toBe('The image has no description.');
  });
});

describe('what is wrong elsewhere', () => {
  it.each([
    ['subject', 'is required', 'Subject is required.'],
    [
      'subject',
      'cannot be used: line 1: output is not closed',
      'Subject cannot be used: output is not closed.',
    ],
    [
      'subject',
      'coupon has no value, so nothing is shown in its place',
      'Subject: coupon has no value, so nothing is shown in its place.',
    ],
    ['body', 'line 2: the address of a link is empty', 'Line 2: the address of a link is empty.'],
    ['design', 'has no content', 'There is no content yet.'],
    [
      'design',
      'the HTML has 120 KB: Gmail shows only the first 102 KB',
      'The HTML has 120 KB: Gmail shows only the first 102 KB.',
    ],
    ['design.sections.99.props.href', 'is empty', 'Link is empty.'],
  ])('at %s that it %j is said as %j', (field, message, sentence) => {
    expect(say(field, message)).toBe(sentence);
  });

  it('names the value that a letter without a link to unsubscribe needs', () => {
    const text = say('design', 'no link leads to {{ unsubscribe_url }}', 'missing_unsubscribe_link');
    expect(text).toContain('has no link to unsubscribe');
    expect(text).not.toMatch(/[{_]/);
  });
});
