import { BrandLink } from '../../../../ui/links.tsx';

/** What to do if there is nothing to choose from. What is typed so far is kept as a draft. */
export const NoneYet = ({ what }: { what: 'list' | 'segment' }) => (
  <>
    The brand has no {what} yet. <BrandLink to={`/${what}s`}>Make one</BrandLink>
  </>
);
