import { Command } from 'commander';

/** What a command uses of the process that runs it. */
export interface CommandIo {
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
  readonly io: CommandIo;

  constructor(name: string | undefined, io: CommandIo) {
    super(name);
    this.io = io;
    this.configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
    });
  }

  /** Commander calls this for each subcommand. */
  override createCommand(name?: string): CarillonCommand {
    return new CarillonCommand(name, this.io);
  }
}
