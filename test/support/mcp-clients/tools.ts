import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Progress } from '../../../src/local/machine/cache.ts';
import { findNodeModules } from '../npm.ts';
import { findPythonProgram } from '../python.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** Where the clients of MCP are that are not a dependency. */
export interface McpClientTools {
  /** The interpreter of a virtual environment with the package `mcp`. */
  python: string;
  /** The inspector's program for the command line. */
  inspector: string;
}

/**
 * Returns where the Python client and the inspector are, in the versions that the files of this folder pin. Puts them
 * into the cache if they are missing.
 * @throws Error that says what to install
 */
export async function findMcpClients(cache: string, progress: Progress): Promise<McpClientTools> {
  // The package has no program of its own; its server does.
  const wanted = { name: 'MCP-client', requirements: join(folder, 'requirements.txt'), program: 'uvicorn' };
  try {
    const [nodeModules, bin] = await Promise.all([
      findNodeModules({ name: 'MCP inspector', folder: join(folder, 'inspector') }, cache, progress),
      findPythonProgram(wanted, cache, progress),
    ]);
    const inspector = '@modelcontextprotocol/inspector/clients/launcher/build/index.js';
    return { python: join(bin, 'python'), inspector: join(nodeModules, inspector) };
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0];
    throw new Error(
      `no MCP clients: install npm and Python 3.10 with venv, and allow their registries (${reason})`,
      { cause: error },
    );
  }
}
