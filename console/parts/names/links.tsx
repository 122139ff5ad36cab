// Links to the screens of what is named.

import { None } from '#console/parts/status.tsx';
import { shortId } from '#console/parts/text.ts';
import { addressOf } from '#console/routes.ts';

export function HostLink({ hostname }: { readonly hostname: string | null | undefined }) {
  if (!hostname) return <None />;
  return <a href={addressOf('hosts', hostname)}>{hostname}</a>;
}

interface DeviceLinkProps {
  readonly uuid: string | null | undefined;
  /** Its address, where that says more than its uuid. */
  readonly title?: string | null | undefined;
}

export function DeviceLink({ uuid, title }: DeviceLinkProps) {
  if (!uuid) return <span class="quiet">{title ?? '-'}</span>;
  return <a href={addressOf('devices', uuid)}>{title ?? shortId(uuid)}</a>;
}

export function RequestLink({ uuid }: { readonly uuid: string }) {
  return (
    <a href={addressOf('requests', uuid)}>
      <Id id={uuid} />
    </a>
  );
}

/** Whole, so that it can be copied. */
export function Id({ id }: { readonly id: string | null | undefined }) {
  if (!id) return <None />;
  return (
    <code class="id" title={id}>
      {id}
    </code>
  );
}
