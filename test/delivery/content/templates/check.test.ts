// The content check names missing variables, broken links, and footer parts that a marketing email lacks.
import { afterAll, describe, expect, it } from '@jest/globals';
import type { ContentSource } from '../../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../../src/delivery/content/templates/engine.ts';
import { brand, sms, valuesOf, withBody, withDesign } from './sources.ts';

const engine = createContentEngine({ threads: 1, compileMs: 60_000 });
afterAll(() => engine.close());

const RELATIVE = 'is relative; email needs a whole address, such as https://example.com/page';
const marketing = { footer: 'marketing' } as const;

async function codes(source: ContentSource, known: string[] = []): Promise<string[]> {
  const problems = await engine.check(source, known, 1);
  return problems.map(({ field, code }) => `${field}: ${code}`);
}

describe('the check of a content', () => {
  it('finds nothing wrong with a good one', async () => {
    const body =
      '<p>{{ contact.first_name }} {{ contact.data.any.thing }} {{ event.data.x }} {{ campaign.name }} {{ coupon }}</p><img alt="" src="https://a.example/b.png"><a href="mailto:a@b.example">x</a><a href="{{ coupon }}">y</a>';
    expect(await engine.check(withBody(body, marketing), ['coupon'], 1)).toEqual([]);
  });

  it('names each variable without a value once', async () => {
    const body =
      '<p>{{ x.y }}{{ x.y }}{% for a in list %}{{ a }}{% endfor %}{{ contact.firstname }}{{ brand.tone }}{{ campaign.x }}</p>';
    const problems = await engine.check(withBody(body, { ...marketing, subject: '{{ name }}' }), [], 1);
    expect(problems.map(({ field, message }) => `${field}: ${message.split(' ')[0]}`).toSorted()).toEqual([
      'body: brand.tone',
      'body: campaign.x',
      'body: contact.firstname',
      'body: list',
      'body: x.y',
      'subject: name',
    ]);
  });

  it.each([
    ['', 'is empty'],
    ['  ', 'is empty'],
    ['#', 'leads nowhere'],
    ['/a', RELATIVE],
    ['a.example', RELATIVE],
    ['//a.example', RELATIVE],
    ['javascript:x', 'has a scheme that is not allowed in email'],
    ['http://localhost:3000/', 'points to a host that recipients cannot reach'],
    ['https://a.local/', 'points to a host that recipients cannot reach'],
    ['http://127.0.0.1/', 'points to a host that recipients cannot reach'],
    ['https://intranet/', 'has a host name without a domain'],
    ['https://', 'is not a valid address'],
    ['https://a b.example', 'is not a valid address'],
    ['mailto:', 'is empty'],
    ['SMS: ', 'is empty'],
    ['ftp://a.example/x', 'has a scheme that is not allowed in email'],
    ['myapp://x', 'has a scheme that is not allowed in email'],
  ])('finds that the link %j %s', async (href, fault) => {
    const problems = await engine.check(withBody(`<p>\n<a href="${href}">x</a></p>`, marketing), [], 1);
    const shown = href.trim() === '' ? '' : `"${href}" `;
    expect(problems).toEqual([
      { field: 'body', code: 'broken_link', message: `line 2: the address ${shown}of a link ${fault}` },
    ]);
  });

  it.each([
    'sms:+493012345?&body=Hi',
    'SMS:+493012345',
    'smsto:+493012345',
    'webcal://a.example/x.ics',
    'webcals://a.example/x.ics',
    'tel:+493012345',
    'facetime:a@b.example',
    'whatsapp://send?text=Hi',
    'geo:52.5,13.4',
    'maps:q=Berlin',
    'sip:a@b.example',
    'callto:+493012345',
    'skype:ada?call',
    'xmpp:a@b.example',
  ])('accepts the link %j, which mail programs open', async (href) => {
    const body = `<p><a href="${href}">x</a></p>`;
    expect(await engine.check(withBody(body, marketing), [], 1)).toEqual([]);
    const { content } = await engine.compile(withBody(body), 1);
    expect(content?.html).toContain(`<a href="${href}">x</a>`);
    expect(content?.text).toBe(`x <${href}>`);
    const { html } = await engine.render(
      {
        subject: null,
        html: '<a href="{{ x }}">x</a>{% if y %}{% endif %}',
        text: null,
        id: null,
        accountId: 1,
      },
      valuesOf({ x: href }),
    );
    expect(html).toBe(`<a href="${href.replaceAll('&', '&amp;')}">x</a>`);
    const design = { sections: [{ type: 'button', props: { label: 'x', href } }] };
    expect(await engine.check(withDesign(design, marketing), [], 1)).toEqual([]);
  });

  // One of each form, from the documentation that `foreign-tags.ts` names and from public letters.
  it.each([
    [
      'Mailchimp',
      '*|FNAME|*',
      '*|IF:VIP|*',
      '*|MC:SUBJECT|*',
      '*|HTML:LIST_ADDRESS_HTML|*',
      '*|DATE:d/m/y|*',
      '*|UNSUB|*',
    ],
    [
      'Salesforce Marketing Cloud',
      '%%First Name%%',
      '%%emailaddr%%',
      '%%=v(@name)=%%',
      '%%[ SET @x = 1 ]%%',
      '%%!message_id%%',
    ],
    [
      'Mailgun',
      '%recipient.name%',
      '%recipient%',
      '%unsubscribe_url%',
      '%tag_unsubscribe_url%',
      '%mailing_list_unsubscribe_url%',
    ],
    [
      'ActiveCampaign',
      '%FIRSTNAME%',
      '%UNSUBSCRIBELINK%',
      '%SENDER-INFO-SINGLELINE%',
      '%CONTACT_ID%',
      '%EMAIL%',
    ],
    ['SendGrid', '[%first_name | Customer%]', '-firstName-', '-name-', '<%asm_group_unsubscribe_url%>'],
    ['Adobe Campaign', '<%= recipient.firstName %>', '<%@ include view="x" %>'],
    ['PHP', '<?php echo $x ?>', '<?= $x ?>'],
    ['FreeMarker', '${first_name}', '$!{lead.FirstName}', '<#if x>'],
    ['Mailjet', '[[data:firstname:"there"]]', '[[var:x]]'],
    [
      'GetResponse, Mailjet or Constant Contact',
      '[[firstname]]',
      '[[FIRSTNAME OR "there"]]',
      '[[UNSUB_LINK_EN]]',
      '[[contact.first_name]]',
      '[[trackingImage]]',
    ],
    ['Constant Contact', '$SUBSCRIBER.EMAIL$'],
    ['AWeber', '{!firstname}', '{!Contact.FirstName}'],
    ['MailerLite', '{$name}', '{$unsubscribe}'],
    ['Zoho Campaigns', '$[FNAME|Customer]$', '$[LI:UNSUBSCRIBE]$'],
    ['Dotdigital', '@FIRSTNAME@', '$UNSUB$'],
    [
      'Mautic',
      '{contactfield=firstname}',
      '{contactfield=firstname|there}',
      '{unsubscribe_url}',
      '{webview_text}',
    ],
    [
      'MailPoet',
      '[subscriber:firstname | default:reader]',
      '[link:subscription_unsubscribe_url]',
      '[contact_attribute:firstname]',
    ],
    [
      'Campaign Monitor',
      '[firstname,fallback=there]',
      '[Name, fallback=]',
      '<unsubscribe>',
      '<webversion>',
      '<singleline label="x">',
    ],
    ['CiviCRM', '{contact.first_name}', '{action.unsubscribeUrl}', '{domain.address}'],
    ['Keap', '~Contact.FirstName~'],
    ['Moosend', '#recipient:name#', '#unsubscribeLink#'],
    ['listmonk', '@TrackLink'],
    [
      'another tool',
      '{name}',
      '{firstname}',
      '{first_name, "there"}',
      '{unsubscribe}',
      '{FIRST_NAME}',
      '[FNAME]',
      '[firstname]',
      '[UNSUBSCRIBEURL]',
      '[unsubscribe]',
      '[webversion]',
      '[Email]',
      '[UNSUBSCRIBE_URL]',
    ],
  ])('warns of the tags of %s', async (tool, ...tags) => {
    for (const tag of tags) {
      const warning = (field: string, line = '') => ({
        field,
        code: 'foreign_tag',
        message: `${line}${tag} is a tag of ${tool}, which Carillon does not replace`,
      });
      const body = `<p>{{ contact.first_name }}</p>\n<p>Hi ${tag}, ${tag}</p>`;
      const found = await engine.check(withBody(body, { ...marketing, subject: `Hi ${tag}` }), [], 1);
      expect(found).toEqual([warning('subject'), warning('body', 'line 2: ')]);
      const link = withBody(
        `<p><a href="https://a.example/?x=${tag.replaceAll('"', '')}">x</a></p>`,
        marketing,
      );
      if (!/[<\s]/.test(tag))
        expect((await engine.check(link, [], 1)).map(({ code }) => code)).toContain('foreign_tag');
      expect(await engine.check(sms(`Hi ${tag}`), [], 1)).toEqual([warning('body', 'line 1: ')]);
      const design = { sections: [{ type: 'header', props: { title: tag } }] };
      expect(await engine.check(withDesign(design, marketing), [], 1)).toEqual([
        warning('design.sections.0.props.title'),
      ]);
    }
  });

  it.each([
    'a | b *|* c',
    '50% off and 20% more',
    '100%%',
    '$5 and $10',
    'x[0] [1] [a] [x, y]',
    '{ a: 1 }',
    'a-name-b',
    'well-known',
    'mail@a.example @handle',
    'https://a.example/%D0%9F%D1%80_%2F%C3%A4?x=%7Bname%7D',
    '#tag1 #tag2#',
    '~5.5~',
    '< 5 % >',
    '$USD',
    '[sic]',
  ])('does not take %j for a tag of another tool', async (text) => {
    const style = '<style>p{color:red} /* {name} */</style><!-- *|FNAME|* --><script>let a = `${b}`</script>';
    const source = withBody(`${style}<p>${text}</p>`, { ...marketing, subject: text });
    expect((await engine.check(source, [], 1)).map(({ code }) => code)).toEqual(['script']);
  });

  it('finds broken links and missing alt texts in MJML and in designs', async () => {
    const mjml =
      '<mjml><mj-body><mj-section><mj-column><mj-image src="/x" /><mj-button href="">x</mj-button></mj-column></mj-section></mj-body></mjml>';
    expect((await codes(withBody(mjml, marketing))).toSorted()).toEqual([
      'body: broken_link',
      'body: broken_link',
      'body: missing_alt',
    ]);
    const design = {
      sections: [
        { type: 'image', props: { src: 'x.png' } },
        { type: 'button', props: { label: 'x', href: '/y' } },
        {
          type: 'columns',
          props: {
            columns: [
              { sections: [{ type: 'image', props: { src: 'https://a.example/b' } }] },
              { sections: [] },
            ],
          },
        },
        { type: 'text', props: { html: '<img src="https://a.example/b">' } },
      ],
    };
    expect(await codes(withDesign(design, marketing))).toEqual([
      'design.sections.0.props.src: broken_link',
      'design.sections.1.props.href: broken_link',
      'design.sections.3.props.html: missing_alt',
      'design.sections.0.props.alt: missing_alt',
      'design.sections.2.props.columns.0.sections.0.props.alt: missing_alt',
    ]);
  });

  it('shows the address of a design that is broken, unless it is empty', async () => {
    const design = {
      sections: [
        { type: 'button', props: { label: 'x', href: '' } },
        { type: 'button', props: { label: 'x', href: '#' } },
      ],
    };
    const problems = await engine.check(withDesign(design, marketing), [], 1);
    expect(problems.map(({ message }) => message)).toEqual(['is empty', '"#" leads nowhere']);
  });

  it('reports a missing unsubscribe link if no footer is added', async () => {
    expect(await codes(withBody('<p>x</p>'))).toEqual(['body: missing_unsubscribe_link']);
    expect(await codes(withBody('<a href="{{ unsubscribe_url }}">x</a>'))).toEqual([]);
  });

  it('reports a missing physical address in marketing mail', async () => {
    const source = withBody('<p>x</p>', { ...marketing, brand: { ...brand, physical_address: ' ' } });
    expect(await codes(source)).toEqual(['brand.physical_address: missing_physical_address']);
  });

  const column = (attributes: string, inside = '<mj-text font-size="{{ contact.data.w }}px">NaN</mj-text>') =>
    `<mjml><mj-body><mj-section>\n<mj-column ${attributes}>\n${inside}</mj-column></mj-section></mj-body></mjml>`;
  const liquid = '{{ contact.data.w }}';
  it.each([
    [column(`width="${liquid}"`), 2, 'width of mj-column'],
    [column(`width="${liquid}%"`), 2, 'width of mj-column'],
    [
      column('', `<mj-image src="https://a.example/a.png" alt="" height="${liquid}px" />`),
      3,
      'height of mj-image',
    ],
    [column('', `<mj-table width="${liquid}"><tr><td>x</td></tr></mj-table>`), 3, 'width of mj-table'],
    [column('').replace('<mj-section', `<mj-section padding="0 ${liquid}"`), 1, 'padding of mj-section'],
    [column('').replace('<mj-body', `<mj-body width="${liquid}"`), 1, 'width of mj-body'],
  ])('refuses Liquid with which MJML would compute: %s', async (body, line, what) => {
    const problems = await engine.check(withBody(body, marketing), ['contact.data.w'], 1);
    expect(problems).toEqual([
      {
        field: 'body',
        code: 'lost_liquid',
        message: `line ${line}: ${what} must not contain Liquid: it is not rendered in values with which MJML computes`,
      },
    ]);
  });

  it('accepts Liquid in attributes that MJML copies', async () => {
    const body = column(`background-color="${liquid}" css-class="${liquid}"`);
    expect(await codes(withBody(body, marketing), ['contact.data.w'])).toEqual([]);
  });

  it('warns about HTML over 102 KB, scripts, and unknown MJML', async () => {
    expect(await codes(withBody(`<p>${'x'.repeat(103 * 1024)}</p>`, marketing))).toEqual(['body: too_large']);
    expect(await codes(withBody('<p>x</p><script>y</script>', marketing))).toEqual(['body: script']);
    expect(await codes(withBody('<mjml><mj-body><mj-foo /></mj-body></mjml>', marketing))).toEqual([
      'body: mjml_error',
    ]);
  });

  it('warns about an SMS that is too long', async () => {
    expect(await codes(sms('x'.repeat(1_531)))).toEqual(['body: too_large']);
    expect(await codes(sms('x'.repeat(1_530)))).toEqual([]);
  });

  it('reports only the problems that make a content unusable, if there are any', async () => {
    expect(await codes(withBody('{{ x '))).toEqual(['body: liquid_error']);
    expect(await codes(withBody(''))).toEqual(['body: missing_content']);
  });

  it('lists at most 50 problems of a kind', async () => {
    expect(await codes(withBody('<a href="">x</a>'.repeat(200), marketing))).toHaveLength(50);
  });
});
