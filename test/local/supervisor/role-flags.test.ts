import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { nodeFlagsOf } from '../../../src/local/supervisor/role-process.ts';

describe("a sender's Node flags", () => {
  it('are known to this Node', () => {
    expect(execFileSync(process.execPath, [...nodeFlagsOf('sender'), '-p', '1'], { encoding: 'utf8' })).toBe(
      '1\n',
    );
  });

  it('are the same in docker-compose.yml', () => {
    const file = readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8');
    const { services } = parse(file, { merge: true }) as { services: { sender: { entrypoint: string[] } } };
    expect(services.sender.entrypoint).toEqual(['node', ...nodeFlagsOf('sender'), '/app/src/main.ts']);
  });
});
