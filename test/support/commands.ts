import { Readable } from 'node:stream';
import { runCommand } from '../../src/cli/program.ts';

/** The result of a command. */
export interface CommandResult {
  /** Its exit code. */
  code: number;
  /** What it wrote to both outputs. */
  output: string;
}

/**
 * Runs a Carillon command in this process.
 * @param settings its environment variables
 * @param input its standard input
 */
export async function carillonCommand(
  args: readonly string[],
  settings: Record<string, string>,
  input = '',
): Promise<CommandResult> {
  let output = '';
  const collect = { write: (text: string) => (output += text) };
  const stdin = Readable.from([input]);
  const code = await runCommand(args, { env: settings, stdin, stdout: collect, stderr: collect });
  return { code, output };
}
