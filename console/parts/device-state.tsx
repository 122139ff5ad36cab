// The status and the health of a device, as each screen shows them.

import { StateOf, Status } from './status.tsx';

/** The API's word for a device that an operator has disabled is deployed Cyborg's. */
export function DeviceStatus({ status }: { readonly status: string }) {
  return <StateOf word={status} title={status === 'maintaining' ? 'disabled' : status} />;
}

export function Health({ health }: { readonly health: string | null }) {
  return health === null ? (
    <Status tone="good">healthy</Status>
  ) : (
    <>
      <Status tone="bad">unhealthy</Status>
      <p class="quiet">{health}</p>
    </>
  );
}
