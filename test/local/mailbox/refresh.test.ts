// The mailbox page refreshes its list without breaking its own content security policy.
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openMailbox, type OpenMailbox } from './mailbox-client.ts';

let open: OpenMailbox;
beforeAll(async () => {
  open = await openMailbox();
});
afterAll(() => open.close());

/** Runs the script of a page with the few browser APIs that it uses. @returns the text that it parses */
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

it('refreshes the list without parsing the style, whose nonce would violate the policy of the page', async () => {
  const { body } = await open.browse('/');
  const script = /<script nonce="[^"]+">([^]*?)<\/script>/.exec(body)?.[1] ?? '';
  expect(body).toContain('<style nonce=');
  const parsed = await parsedBy(script, body);
  expect(parsed).toContain('id="list"');
  expect(parsed).not.toContain('<style nonce=');
});
