/**
 * A message that must not leave: a line break or a reserved name in a header, an impossible Message-ID or Date.
 * The API's validation refuses these; reaching this means that it was passed by. Final for the message.
 */
export class InvalidMessageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidMessageError';
  }
}
