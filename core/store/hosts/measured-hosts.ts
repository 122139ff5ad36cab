// What is stored of measured hosts: their providers, of which hosts have few kinds, so that each
// kind is stored once; and the claims of their handles.

import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { CapacityHost } from '#core/domain/capacity/capacity.ts';
import { kindOf, type ProviderKind, providerOf } from '#core/domain/capacity/measured-hosts.ts';
import type { HostClaims } from '#core/domain/quota/lasting-claims.ts';
import { present } from '#core/shapes/derive/present.ts';
import { measuredClaimsKey, measuredHostsKey } from '#core/store/rows/rows.ts';
import type { Measured } from './measured-store.ts';

type PackedHost = readonly [
  hostname: string,
  kinds: readonly number[],
  isPaused: 0 | 1,
  stoppedBy?: CapacityHost['stoppedBy'],
];

interface PackedHosts {
  readonly kinds: readonly ProviderKind[];
  readonly hosts: readonly PackedHost[];
}

export const measuredHosts: Measured<CapacityHost> = {
  keyOf: measuredHostsKey,

  pack(hosts): PackedHosts {
    const kinds = new Map<string, [index: number, kind: ProviderKind]>();
    const indexOf = (provider: StoredProvider) => {
      const kind = kindOf(provider);
      const text = JSON.stringify(kind);
      const [index] = kinds.get(text) ?? [kinds.size];
      kinds.set(text, [index, kind]);
      return index;
    };
    const packed = hosts.map(({ hostname, providers, isPaused, stoppedBy }): PackedHost => {
      const host = [hostname, providers.map(indexOf), isPaused ? 1 : 0] as const;
      return stoppedBy ? [...host, stoppedBy] : host;
    });
    return { kinds: [...kinds.values()].map(([, kind]) => kind), hosts: packed };
  },

  unpack(packed) {
    const { kinds, hosts } = packed as PackedHosts;
    const providers = kinds.map(providerOf);
    return hosts.map(([hostname, indexes, isPaused, stoppedBy]) => ({
      hostname,
      providers: indexes.flatMap((index) => providers[index] ?? []),
      isPaused: isPaused === 1,
      ...present({ stoppedBy }),
    }));
  },
};

type PackedClaim = readonly [handle: string, since: string, project: number, class_: number];

interface PackedClaims {
  /** Projects and resource classes. */
  readonly names: readonly string[];
  readonly hosts: readonly (readonly [hostname: string, claims: readonly PackedClaim[]])[];
}

export const measuredClaims: Measured<HostClaims> = {
  keyOf: measuredClaimsKey,

  pack(hosts): PackedClaims {
    const names = new Map<string, number>();
    const indexOf = (name: string) => {
      const index = names.get(name) ?? names.size;
      names.set(name, index);
      return index;
    };
    const packed = hosts.map(({ hostname, claims }) => {
      const each = claims.map(({ handleUuid, since, projectId, resourceClass }): PackedClaim => {
        return [handleUuid, since, indexOf(projectId), indexOf(resourceClass)];
      });
      return [hostname, each] as const;
    });
    return { names: [...names.keys()], hosts: packed };
  },

  unpack(packed) {
    const { names, hosts } = packed as PackedClaims;
    const nameAt = (index: number) => names[index] ?? '';
    return hosts.map(([hostname, claims]) => ({
      hostname,
      claims: claims.map(([handleUuid, since, project, resourceClass]) => ({
        handleUuid,
        since,
        projectId: nameAt(project),
        resourceClass: nameAt(resourceClass),
      })),
    }));
  },
};
