// What a host and the control plane say about the host's next certificate. The topic says which
// host it is.

import * as z from 'zod';

/** AWS signs a request of at most 4096 characters. */
const csr = z.string().max(4096);

/** A certificate's id: 64 hexadecimal digits. */
const certificateId = z.string().regex(/^[0-9a-f]{64}$/);

export const certificateMessage = z.union(
  [
    // Repeated until it is answered: the same key gets the same certificate.
    z.object({ csr }),
    // The host has connected with this certificate, so the older ones can be removed.
    z.object({ in_use: certificateId }),
  ],
  { error: 'csr or in_use is needed' },
);
export type CertificateMessage = z.infer<typeof certificateMessage>;

export const certificateAnswer = z.union([
  /** PEM. */
  z.object({ certificate: z.string() }),
  /** One sentence: why there is none. */
  z.object({ refused: z.string() }),
]);
export type CertificateAnswer = z.infer<typeof certificateAnswer>;
