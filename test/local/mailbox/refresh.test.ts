import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openMailbox, type OpenMailbox } from './mailbox-client.ts';

let open: OpenMailbox;
beforeAll(async () => {
  open = await openMailbox();
});
afterAll(() => open.close());

/** The page's script with a browser's few parts it uses; resolves with what it would have parsed. */
async function parsedBy(script: string, answer: string): Promise<string> {
  return new Promise((resolve) => {
    runInNewContext(script, {
      document: { hidden: false, querySelector: () => null, getElementById: () => null },
      location: { href: '/' },
      fetch: () => Promise.resolve({ ok: true, text: () => Promise.resolve(answer) }),
      setInterval: (look: () => void) => look(),
      DOMParser: class {
        parseFromString(text: string): object {
          resolve(text);
          return { getElementById: () => null };
        }
      },
    });
  });
}

it('looks at the list anew without the style, of whose nonce a browser would complain each time', async () => {
  const { body } = await open.browse('/');
  const script = /<script nonce="[^"]+">([^]*?)<\/script>/.exec(body)?.[1] ?? '';
  expect(body).toContain('<style nonce=');
  const parsed = await parsedBy(script, body);
  expect(parsed).toContain('id="list"');
  expect(parsed).not.toContain('<style nonce=');
});
