import { createApiServer, type ApiServerConfig } from '../../src/apiserver/server.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { serveApi } from '../../src/node/apiserver-http.ts';
import { YAML_FORMAT } from '../../src/node/yaml.ts';
import { apiServerContract, apiServerWithoutWatchList } from '../suites/apiserver.ts';
import { apiServerDualStack } from '../suites/apiserver-dual-stack.ts';
import type { ApiServerUnderTest } from '../suites/apiserver-client.ts';

async function start(config: Partial<ApiServerConfig> = {}): Promise<ApiServerUnderTest> {
  const prng = createPrng(1);
  const api = createApiServer({ random: () => nextFloat(prng), startWallMs: Date.now(), yaml: YAML_FORMAT, ...config });
  const http = await serveApi(api, { token: 'secret' });
  return { url: http.url, token: 'secret', stop: () => http.close() };
}

apiServerContract('embedded', true, () => start());
apiServerWithoutWatchList('embedded', () => start({ watchList: false }));
apiServerDualStack('embedded', () => start({ serviceClusterIPRanges: ['10.96.0.0/12', 'fd00:10:96::/112'] }));
