// Values are read and written as Liquid understands them, and links keep addresses that contain Liquid.
import { describe, expect, it } from '@jest/globals';
import type { Schemas } from '../../../console/src/api/client.ts';
import { sentPart } from '../../../console/src/editors/content/content.ts';
import {
  chipLabel,
  namesOf,
  parseValue,
  valueSource,
} from '../../../console/src/editors/content/liquid-value.ts';
import { valueGroups } from '../../../console/src/editors/content/value-choices.ts';
import { hrefOf, isAllowedHref, linkAttributes } from '../../../console/src/editors/content/rich-link.ts';
import { LINK_SCHEMES } from '../../../src/delivery/content/templates/link-schemes.ts';
import { parseLiquid } from '../../../src/delivery/content/templates/liquid.ts';

describe('a value', () => {
  it.each([
    ['{{ contact.first_name }}', 'contact.first_name', ''],
    ['{{contact.data.pet-name|default:"none"}}', 'contact.data.pet-name', 'none'],
    [`{{ a | default: 'say "hi"' }}`, 'a', 'say "hi"'],
    ['{{- a -}}', 'a', ''],
  ])('%s is a name with its fallback', (source, name, fallback) => {
    expect(parseValue(source)).toEqual({ name, fallback });
  });

  it.each(['{{ a | upcase }}', '{{ a | default: b }}', '{{ "a" }}', '{% if a %}', '{{ a.b[0] }}', 'a'])(
    '%s is edited as it is',
    (source) => {
      expect(parseValue(source)).toBeNull();
      expect(chipLabel(source)).toBe(source);
    },
  );

  it.each([['there'], ['say "hi"'], [`both " and '`], ['']])(
    'with the fallback %j can be read again',
    (fallback) => {
      const source = valueSource({ name: 'contact.first_name', fallback });
      expect(parseValue(source)?.fallback).toBe(fallback.includes("'") ? "both ” and '" : fallback);
      expect(() => parseLiquid(source, 'html')).not.toThrow();
    },
  );

  it('can be one that only this place has', () => {
    const names = namesOf({ footer: 'marketing', names: ['event.data.plan'], variables: { coupon: 'X' } });
    expect(names).toEqual(expect.arrayContaining(['campaign.name', 'event.data.plan', 'coupon']));
    expect(namesOf({ footer: 'none' })).not.toContain('campaign.name');
  });
});

describe('the values to choose from', () => {
  const contact = (fields: object) =>
    ({ data: {}, channels: [], ...fields }) as unknown as Schemas['Contact'];
  const groups = (names: string[], data: string[], contacts: Schemas['Contact'][] = []) =>
    valueGroups(names, { data, contacts, brand: { company_name: 'Acme' } as Schemas['Brand'] });

  it('are in groups, with the keys of contacts that Liquid can name', () => {
    const names = [
      'contact.first_name',
      'contact.data.plan',
      'event.data.total',
      'unsubscribe_url',
      'coupon',
    ];
    const found = groups(names, ['plan', 'pet-name', 'two words', 'shop.city']);
    expect(found.map(([group, items]) => [group, ...items.map(({ label }) => label)])).toEqual([
      ['Contact', 'First name'],
      ['Data of the contact', 'Plan', 'Pet-name', 'Shop.city'],
      ['Event that started the flow', 'Total'],
      ['Links', 'Unsubscribe link'],
      ['Of this content', 'Coupon'],
    ]);
  });

  it('have the first example that a contact or the brand has', () => {
    const contacts = [
      contact({ first_name: '', data: { plan: null, toString: 7 } }),
      contact({
        first_name: 'Ada',
        data: { plan: { name: 'pro' } },
        channels: [
          { kind: 'email', value: 'ada@example.com' },
          { kind: 'email', value: 'old@example.com' },
        ],
      }),
    ];
    const names = ['contact.first_name', 'contact.email', 'brand.company_name', 'contact.data.constructor'];
    const found = groups(names, ['plan', 'plan.name'], contacts).flatMap(([, items]) => items);
    expect(Object.fromEntries(found.map(({ name, example }) => [name, example]))).toEqual({
      'contact.first_name': 'Ada',
      'contact.email': 'ada@example.com',
      'brand.company_name': 'Acme',
      'contact.data.constructor': null,
      'contact.data.plan': null,
      'contact.data.plan.name': 'pro',
    });
  });
});

describe('a link', () => {
  it.each([
    ['https://x.example/?a=1&b="2"', ' href="https://x.example/?a=1&amp;b=&quot;2&quot;"'],
    [
      '{{ order.url | default: "https://x.example/" }}',
      ' href="{{ order.url | default: "https://x.example/" }}"',
    ],
    ['mailto:a@x.example', ' href="mailto:a@x.example"'],
    ['javascript:alert(1)', ' href=""'],
    ['/relative', ' href=""'],
  ])('to %s is written as%s', (href, attributes) => {
    expect(linkAttributes('', href)).toBe(attributes);
    if (!attributes.endsWith('href=""')) expect(hrefOf(attributes)).toBe(href);
  });

  it('may have any scheme that the service accepts', () => {
    const refused = LINK_SCHEMES.filter((scheme) => !isAllowedHref(`${scheme}://x`));
    expect(refused).toEqual([]);
  });

  it('keeps its other attributes', () => {
    const before = ` class="a" href='https://x.example/' target="_blank"`;
    expect(hrefOf(before)).toBe('https://x.example/');
    expect(linkAttributes(before, 'tel:+4930')).toBe(` class="a" href="tel:+4930" target="_blank"`);
  });
});

describe('what is sent', () => {
  const design = { sections: [], theme: {} };
  it.each([
    [{ body: 'x' }, 'body'],
    [{ body: ' ', design }, 'design'],
    [{ body: null, design }, 'design'],
    [{ body: 'x', design }, 'design'],
    [{ body: 'x', design, content_from: 'body' }, 'body'],
    [{ body: '', design, content_from: 'body' }, 'design'],
    [{}, 'body'],
  ])('of %j is the %s', (content, part) => expect(sentPart(content)).toBe(part));
});
