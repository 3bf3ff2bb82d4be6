import type { Schemas } from '../../api/client.ts';

/** The brands of an account, to choose from. */
export const brandOptions = ({ brands }: Schemas['OwnAccount']): { value: string; label: string }[] =>
  brands.map(({ id, company_name: name }) => ({ value: String(id), label: name || `Brand ${id}` }));
