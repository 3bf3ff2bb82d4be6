/** What the thread that reads pages is asked, and what it replies. */
import type { Encoded } from './encoding.ts';
import type { Identity } from './identity.ts';
import type { LogoImage } from './logo-image.ts';
import type { LogoCandidate } from './logos.ts';
import type { Look } from './look.ts';
import type { RobotsRule } from './robots.ts';

/** Something that was fetched. */
export interface Source extends Encoded {
  url: string;
}

export interface Jobs {
  /** The rules of a robots.txt for a user agent. */
  robots: { job: { text: Uint8Array; agent: string }; reply: RobotsRule[] };
  /** Whether rules let an address of their origin be fetched. */
  allowed: { job: { rules: RobotsRule[]; url: string }; reply: boolean };
  /** Addresses of the stylesheets of a page, in their order. */
  sheets: { job: { page: Source }; reply: string[] };
  /** Addresses that a stylesheet imports. */
  imports: { job: { sheet: Source }; reply: string[] };
  /** What a page says with its stylesheets, which have the addresses of `sheets`. */
  page: { job: { page: Source; sheets: FetchedSheet[] }; reply: PageFindings };
  logo: { job: { logo: LogoSource; color: string }; reply: LogoImage | null };
}

/** A stylesheet, and those that it imports. `address` is as the page has it: it may have been redirected. */
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
