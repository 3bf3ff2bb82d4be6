import type { Schemas } from '../../api/client.ts';

/** The encoding, and values by which people see whether it is the right one. */
export const encodingText = ({ encoding }: Pick<Schemas['Import'], 'encoding'>) => {
  if (encoding === null) return '–';
  const samples = encoding.samples.length > 0 ? `, for example: ${encoding.samples.join(', ')}` : '';
  return `${encoding.name}${encoding.detected ? ' (detected)' : ''}${samples}`;
};
