import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { McpClient, McpClientSettings, McpRun } from './client.ts';

const SCRIPT = fileURLToPath(new URL('client.py', import.meta.url));

/** The client of the SDK for Python. @param python the interpreter that has it */
export function createPythonClient(
  python: string,
  { authorize, answer, ...settings }: McpClientSettings,
): McpClient {
  const given = JSON.stringify({ ...settings, asks: answer !== undefined });
  const child = spawn(python, [SCRIPT, given], {
    env: { PATH: process.env.PATH, HOME: settings.home, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const errors = text(child.stderr);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const write = (line: string) => child.stdin.write(`${line}\n`);
  // The program may end while a line is written. Its output says why.
  child.stdin.on('error', () => undefined);
  let calls = 0;

  async function run(tool: string, args: Record<string, unknown> = {}): Promise<McpRun> {
    write(JSON.stringify({ tool, arguments: args, expired: calls > 0 }));
    calls += 1;
    for (;;) {
      const line = await lines.next();
      if (line.done) throw new Error(`the Python client failed: ${await errors}`);
      const written = JSON.parse(line.value) as McpRun & { authorize?: string; question?: string };
      if (written.authorize !== undefined) write((await authorize(written.authorize)).href);
      else if (written.question !== undefined) write(answer?.(written.question) ? 'yes' : 'no');
      else return written;
    }
  }
  return { name: 'Python', run, close: () => void child.kill() };
}
