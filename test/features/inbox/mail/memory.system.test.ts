// Five mails of 25 MB at once are read with less than 400 MB of memory, whatever they consist of.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const program = fileURLToPath(new URL('../../../support/big-mails.ts', import.meta.url));
const MAX_MB = 400;
const LIMIT_MS = 180_000;

describe('five mails of 25 MB at once', () => {
  it.each([
    ['base64', { truncated: false, attachments: [19_156_275] }],
    ['text', { truncated: true, attachments: [] }],
    ['html', { truncated: true, attachments: [] }],
    ['attached', { truncated: false, attachments: [26_213_906] }],
    ['signed', { truncated: true, attachments: [] }],
  ])(
    'are read with little memory: %s',
    async (name, expected) => {
      const { stdout } = await promisify(execFile)(process.execPath, [program, name]);
      const { peakMb, ...found } = JSON.parse(stdout) as { peakMb: number };
      expect(found).toEqual({ suspicion: null, ...expected });
      expect(peakMb).toBeLessThan(MAX_MB);
    },
    LIMIT_MS,
  );
});
