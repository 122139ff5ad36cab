// The list of the console's files, which the bundler writes beside them, and from which the
// function `console` serves them: a name that is not in the list is not served.

import * as z from 'zod';

export const consoleListName = 'files.json';

/** The page; all other files have the hash of their content in their names. */
export const consolePage = 'index.html';

/** Content encodings, the preferred one first, and the suffixes of the encoded copies. */
export const consoleEncodings = { br: '.br', gzip: '.gz' } as const;
export type ConsoleEncoding = keyof typeof consoleEncodings;

export const consoleFiles = z.record(
  z.string(),
  z.strictObject({
    type: z.string(),
    /** The tag of the content as it is; an encoded copy has its own. */
    digest: z.string(),
    /** Encodings of which the folder has a copy. */
    encodings: z.array(z.enum(['br', 'gzip'])),
  }),
);
export type ConsoleFiles = z.infer<typeof consoleFiles>;
