/** The jobs of the thread that reads pages, and its replies. */
import type { Encoded } from './encoding.ts';
import type { Identity } from './identity.ts';
import type { LogoImage } from './logo-image.ts';
import type { LogoCandidate } from './logos.ts';
import type { Look } from './look.ts';
import type { RobotsRule } from './robots.ts';

/** A fetched resource. */
export interface Source extends Encoded {
  url: string;
}

export interface Jobs {
  /** Reads the rules of a robots.txt for a user agent. */
  robots: { job: { text: Uint8Array; agent: string }; reply: RobotsRule[] };
  /** Checks whether the rules of a URL's origin allow it to be fetched. */
  allowed: { job: { rules: RobotsRule[]; url: string }; reply: boolean };
  /** Finds the URLs of a page's stylesheets, in their order. */
  sheets: { job: { page: Source }; reply: string[] };
  /** Finds the URLs that a stylesheet imports. */
  imports: { job: { sheet: Source }; reply: string[] };
  /** Reads a page with its stylesheets, which have the URLs that `sheets` returned. */
  page: { job: { page: Source; sheets: FetchedSheet[] }; reply: PageFindings };
  logo: { job: { logo: LogoSource; color: string }; reply: LogoImage | null };
}

/** A stylesheet with those that it imports. `address` is the URL in the page; the request may have been redirected. */
export interface FetchedSheet extends Source {
  address: string;
  imported: FetchedSheet[];
}

export type LogoSource = { bytes: Uint8Array } | Exclude<LogoCandidate, { url: string }>;

export interface PageFindings extends Look, Identity {
  logos: LogoCandidate[];
}

export type JobName = keyof Jobs;
export type ThreadJob = { [Name in JobName]: { name: Name } & Jobs[Name]['job'] }[JobName];
export type ThreadReply = { value: unknown } | { failure: string };
