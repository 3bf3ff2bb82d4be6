import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { McpClient, McpClientSettings } from './client.ts';

const PAGE = /Please navigate to: (\S+)/;

/** The inspector's command line. Each of its processes calls one method. @param program its script */
export function createInspector(program: string, settings: McpClientSettings): McpClient {
  const { url, era, document, redirectUrl, home, authorize } = settings;
  const options = ['--cli', url, '--transport', 'http', '--format', 'json', '--protocol-era', era];
  const client = [
    '--callback-url',
    redirectUrl,
    ...(document === null ? [] : ['--client-metadata-url', document]),
  ];

  async function call(method: string, ...args: string[]): Promise<Record<string, unknown>> {
    const child = spawn(process.execPath, [program, ...options, ...client, '--method', method, ...args], {
      env: {
        PATH: process.env.PATH,
        HOME: home,
        MCP_STORAGE_DIR: home,
        MCP_INSPECTOR_SECRET_STORE: 'file',
        // It refuses to sign in without a terminal unless it may open a browser; that browser is a program that does nothing.
        MCP_AUTO_OPEN_ENABLED: 'true',
        BROWSER: 'true',
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    // It asks whether to sign in once more, for more scopes.
    child.stdin.end('y\n');
    const output = text(child.stdout);
    let errors = '';
    try {
      for await (const line of createInterface(child.stderr)) {
        const page = PAGE.exec(line)?.[1];
        if (page === undefined) errors += `${line}\n`;
        // The inspector listens for the browser.
        else await fetch(await authorize(page)).then((answer) => answer.text());
      }
    } finally {
      child.kill();
    }
    try {
      return (JSON.parse(await output) as { result: Record<string, unknown> }).result;
    } catch {
      throw new Error(`the inspector's ${method} failed: ${errors}${await output}`);
    }
  }

  let version: string | undefined;

  return {
    name: 'inspector',
    close: () => undefined,
    async run(tool, args = {}) {
      version ??= String((await call('initialize')).protocolVersion);
      const { tools } = (await call('tools/list', '--strict')) as { tools: { name: string }[] };
      const called = await call(
        'tools/call',
        ...['--tool-name', tool, '--tool-args-json', JSON.stringify(args)],
      );
      return {
        version,
        tools: tools.map(({ name }) => name),
        result: (called.structuredContent ?? {}) as Record<string, unknown>,
      };
    },
  };
}
