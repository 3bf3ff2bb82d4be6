/**
 * The SQLSTATE of functions that take or record plain messages, if one of the messages turns out not to be plain after
 * they have changed something. Nothing is changed then, and the caller takes the way of other messages.
 */
const NOT_PLAIN = 'CL020';

export const isNotPlain = (error: unknown): boolean => (error as { code?: string }).code === NOT_PLAIN;
