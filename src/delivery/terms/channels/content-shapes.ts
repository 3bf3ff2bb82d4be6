import type { Channel } from './index.ts';

/**
 * What contents of each channel are made of. `html`: a subject, a preheader, and HTML from a body or a design. `text`: a
 * body. This is not one of the facts, because threads that compile contents read it and must not load the rest.
 */
const contentShapes: Readonly<Record<Channel, 'html' | 'text'>> = { email: 'html', sms: 'text' };

export const hasHtml = (channel: Channel): boolean => contentShapes[channel] === 'html';
