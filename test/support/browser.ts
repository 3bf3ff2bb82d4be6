/** A real Chromium, steered as a person would: by keys. */
import type { Readable, Writable } from 'node:stream';
import { launchChromium } from './chromium.ts';
import { eventually } from './eventually.ts';

/** A message of the DevTools protocol. */
interface Message {
  id?: number;
  sessionId?: string;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { message: string };
}

type Send = (method: string, params?: object) => Promise<Record<string, unknown>>;

const KEYS = {
  Tab: { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 },
  Enter: { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' },
  Space: { key: ' ', code: 'Space', windowsVirtualKeyCode: 32, text: ' ' },
};
export type Key = keyof typeof KEYS;

/** Messages end with a zero byte (`--remote-debugging-pipe`). */
function connect(input: Writable, output: Readable, onEvent: (message: Message) => void) {
  const waiting = new Map<number, { resolve(message: Message): void; reject(error: Error): void }>();
  let last = 0;
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\0');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const message = JSON.parse(part) as Message;
      if (message.id === undefined) onEvent(message);
      else waiting.get(message.id)?.resolve(message);
    }
  });
  output.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('Chromium has ended'));
  });
  return async (method: string, params: object = {}, sessionId?: string) => {
    last += 1;
    const id = last;
    const answered = new Promise<Message>((resolve, reject) => waiting.set(id, { resolve, reject }));
    input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    const { error, result } = await answered;
    waiting.delete(id);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  };
}

/** A page in a window of its own. */
export interface BrowserPage {
  open(url: string): Promise<void>;
  /** Runs an expression in the page, whatever its policy, and returns its value or that of its promise. */
  evaluate<T>(expression: string): Promise<T>;
  press(key: Key): Promise<void>;
  /** Types into the element that has the focus. */
  type(text: string): Promise<void>;
  /** Presses Tab until an element that matches has the focus. @throws Error if none gets it */
  tabTo(selector: string): Promise<void>;
  /** Every URL that the page has navigated to, or tried to, with redirects and those of other programs. */
  readonly navigations: readonly string[];
  /** What the console showed: errors and violations of the policy. */
  readonly problems: readonly string[];
  setTheme(theme: 'light' | 'dark'): Promise<void>;
  /** Waits until the location of the loaded page matches. */
  arriveAt(pattern: RegExp): Promise<void>;
  /** Waits until an expression is true in the loaded page. */
  waitFor(expression: string): Promise<void>;
  /** Waits until the page tries to open an URL that matches, also one of another program. */
  navigatesTo(pattern: RegExp): Promise<void>;
}

export interface Browser {
  newPage(): Promise<BrowserPage>;
  close(): Promise<void>;
}

const MAX_TABS = 100;

function createPage(send: Send, navigations: string[], problems: string[]): BrowserPage {
  async function evaluate<T>(expression: string): Promise<T> {
    const options = { awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = (await send('Runtime.evaluate', { expression, ...options })) as {
      result: { value: T };
      exceptionDetails?: { text: string; exception?: { description?: string } };
    };
    if (exceptionDetails) {
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    return result.value;
  }

  async function press(key: Key): Promise<void> {
    await send('Input.dispatchKeyEvent', { type: 'keyDown', ...KEYS[key] });
    await send('Input.dispatchKeyEvent', { type: 'keyUp', ...KEYS[key] });
  }

  return {
    navigations,
    problems,
    evaluate,
    press,
    async open(url) {
      await send('Page.navigate', { url });
      await eventually(async () => {
        if ((await evaluate('document.readyState')) !== 'complete') throw new Error('still loading');
      });
    },
    async type(text) {
      await send('Input.insertText', { text });
    },
    async tabTo(selector) {
      for (let n = 0; n < MAX_TABS; n += 1) {
        if (await evaluate<boolean>(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
        await press('Tab');
      }
      throw new Error(`no Tab leads to ${selector}`);
    },
    async setTheme(theme) {
      const features = [{ name: 'prefers-color-scheme', value: theme }];
      await send('Emulation.setEmulatedMedia', { features });
    },
    async waitFor(expression) {
      await eventually(async () => {
        if (await evaluate<boolean>(`document.readyState === 'complete' && (${expression})`)) return;
        throw new Error(
          `${expression} is false at ${await evaluate<string>('location.href + document.body.innerText')}`,
        );
      });
    },
    async navigatesTo(pattern) {
      await eventually(() => {
        if (!navigations.some((url) => pattern.test(url))) throw new Error(`only ${navigations.join(', ')}`);
      });
    },
    async arriveAt(pattern) {
      await eventually(async () => {
        const [place, state] = await evaluate<[string, string]>('[location.href, document.readyState]');
        if (!pattern.test(place) || state !== 'complete') throw new Error(`at ${place}, ${state}`);
      });
    },
  };
}

/** Records what a page does. */
function createRecorder() {
  const navigations: string[] = [];
  const problems: string[] = [];
  return {
    navigations,
    problems,
    record({ method, params = {} }: Message): void {
      const { type, request, entry, url } = params as {
        type?: string;
        request?: { url: string };
        entry?: { text: string; level: string };
        url?: string;
      };
      const isPage = method === 'Network.requestWillBeSent' && type === 'Document';
      if (isPage && request) navigations.push(request.url);
      if (method === 'Page.frameRequestedNavigation' && url !== undefined) navigations.push(url);
      if (method === 'Log.entryAdded' && entry?.level === 'error') problems.push(entry.text);
    },
  };
}

/**
 * Starts Chromium with a new profile. Call `close` afterwards.
 * @param flags further flags of the program
 */
export async function startBrowser(flags: readonly string[] = []): Promise<Browser> {
  const chromium = await launchChromium(['--remote-debugging-pipe', ...flags, 'about:blank']);
  const { input, output } = chromium.pipes;
  const recorders = new Map<string, ReturnType<typeof createRecorder>>();
  const send = connect(input, output, (message) => recorders.get(message.sessionId ?? '')?.record(message));
  return {
    async newPage() {
      const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
      const attached = await send('Target.attachToTarget', { targetId, flatten: true });
      const sessionId = String(attached.sessionId);
      const recorder = createRecorder();
      recorders.set(sessionId, recorder);
      const ofPage: Send = (method, params) => send(method, params, sessionId);
      for (const domain of ['Page', 'Network', 'Log', 'Runtime']) await ofPage(`${domain}.enable`);
      return createPage(ofPage, recorder.navigations, recorder.problems);
    },
    close: () => chromium.close(),
  };
}
