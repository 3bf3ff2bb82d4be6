/** Draws a flow in the editor of the console, by mouse or by the keyboard alone. */
import type { Locator, Page } from 'playwright-core';

/** How a user reaches things. */
export interface Hand {
  press(target: Locator): Promise<void>;
  /** Types into an input, in place of what it has. */
  type(target: Locator, text: string): Promise<void>;
  /** Chooses the option with this text. */
  choose(target: Locator, option: string): Promise<void>;
}

export const mouse: Hand = {
  press: (target) => target.click(),
  async type(target, text) {
    await target.click();
    await target.fill(text);
  },
  async choose(target, option) {
    await target.selectOption({ label: option });
  },
};

/** Far more stops than a page of the editor has. */
const MAX_STOPS = 400;

/** What is read of an element in the page. */
interface PageElement {
  ownerDocument: { activeElement: PageElement | null };
  compareDocumentPosition(other: unknown): number;
}

const isFocused = (element: unknown) => (element as PageElement).ownerDocument.activeElement === element;

function isBeforeFocus(element: unknown): boolean {
  const preceding = 2;
  const active = (element as PageElement).ownerDocument.activeElement;
  return ((active?.compareDocumentPosition(element) ?? 0) & preceding) > 0;
}

/** Goes to an element with the Tab key, by the shorter way. */
async function reach(target: Locator): Promise<void> {
  await target.waitFor();
  const page = target.page();
  const isBefore = await target.evaluate(isBeforeFocus);
  for (let stops = 0; stops < MAX_STOPS; stops += 1) {
    if (await target.evaluate(isFocused)) return;
    await page.keyboard.press(isBefore ? 'Shift+Tab' : 'Tab');
  }
  throw new Error(`the Tab key does not reach ${target.toString()}`);
}

export const keyboard: Hand = {
  async press(target) {
    await reach(target);
    await target.page().keyboard.press('Enter');
  },
  async type(target, text) {
    await reach(target);
    await target.page().keyboard.press('ControlOrMeta+a');
    await target.page().keyboard.type(text);
  },
  async choose(target, option) {
    await reach(target);
    await target.page().keyboard.type(option);
  },
};

/** Draws a flow of twelve steps with two branches into an empty flow that is open in the editor. */
export async function drawFlow(page: Page, hand: Hand): Promise<void> {
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const panel = page.locator('.side-panel');
  const add = async (place: string, type: string) => {
    await hand.press(button(`Add a step ${place}`));
    await hand.press(page.getByRole('dialog').getByRole('button', { name: type, exact: true }));
    await panel.getByRole('heading', { name: type }).waitFor();
  };
  const setData = async (name: string, value: string) => {
    await hand.press(panel.getByRole('button', { name: 'Add a value' }));
    await hand.type(panel.getByLabel('Name', { exact: true }), name);
    await hand.type(panel.getByLabel(`Value of ${name}`), value);
  };
  const text = (body: string) => hand.type(panel.getByLabel('Text', { exact: true }), body);

  await hand.choose(panel.getByLabel('Contacts enter when'), 'an event is tracked for them');
  await hand.type(panel.getByLabel('Event', { exact: true }), 'signed_up');

  await add('at the start', 'Update the contact');
  await setData('stage', 'new');

  await add('after Update the contact new 1', 'Condition');
  await hand.press(panel.getByRole('button', { name: 'Add filter' }));
  await hand.choose(panel.getByLabel('Name', { exact: true }), 'Another key…');
  await hand.type(panel.getByLabel('Key', { exact: true }), 'stage');
  await hand.type(panel.getByLabel('Value', { exact: true }), 'new');
  await add('in the branch “yes” of Condition new 1', 'SMS');
  await text('Welcome, {{ contact.first_name }}');
  await add('after SMS new 1', 'Track an event');
  await hand.type(panel.getByLabel('Event', { exact: true }), 'greeted');
  await add('in the branch “no” of Condition new 1', 'Wait');
  await add('after Wait new 1', 'Exit');
  await hand.type(panel.getByLabel('Reason'), 'known');

  await add('after Condition new 1', 'Wait for an event');
  await hand.type(panel.getByLabel('Event', { exact: true }), 'bought');
  await add('in the branch “in time” of Wait for an event new 1', 'Update the contact');
  await setData('stage', 'buyer');
  await add('after Update the contact new 2', 'SMS');
  await text('Thanks');
  await add('in the branch “too late” of Wait for an event new 1', 'Wait');
  await add('after Wait new 2', 'Email');
  await hand.type(panel.getByLabel('Subject', { exact: true }), 'Are you still there?');
  await hand.press(panel.getByRole('button', { name: 'Edit the letter' }));
  await hand.press(page.getByRole('button', { name: /^Plain letter/ }));
  await hand.press(button('Back to the steps'));

  await add('after Wait for an event new 1', 'Exit');
  await hand.type(panel.getByLabel('Reason'), 'done');
}

/** Drags a step of the graph to a mark. Both must be in sight. */
export async function drag(page: Page, step: RegExp, mark: string): Promise<void> {
  const middleOf = async (target: Locator) => {
    const box = await target.boundingBox();
    if (!box) throw new Error(`${target.toString()} is not shown`);
    return [box.x + box.width / 2, box.y + box.height / 2] as const;
  };
  const from = await middleOf(page.getByRole('button', { name: step }));
  const to = await middleOf(page.getByRole('button', { name: mark, exact: true }));
  await page.mouse.move(...from);
  await page.mouse.down();
  await page.mouse.move(...to, { steps: 8 });
  await page.locator('.flow-mark.target').waitFor();
  await page.mouse.up();
}
