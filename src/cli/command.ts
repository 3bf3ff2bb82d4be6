import { Command } from 'commander';

/** What a command uses of the process that runs it. */
export interface Surroundings {
  env: Record<string, string | undefined>;
  stdin: NodeJS.ReadableStream;
  stdout: Output;
  stderr: Output;
}

interface Output {
  write(text: string): unknown;
}

/** The `carillon` command or one of its subcommands. */
export class CarillonCommand extends Command {
  readonly surroundings: Surroundings;

  constructor(name: string | undefined, surroundings: Surroundings) {
    super(name);
    this.surroundings = surroundings;
    this.configureOutput({
      writeOut: (text) => void surroundings.stdout.write(text),
      writeErr: (text) => void surroundings.stderr.write(text),
    });
  }

  /** Commander calls this for each subcommand. */
  override createCommand(name?: string): CarillonCommand {
    return new CarillonCommand(name, this.surroundings);
  }
}
