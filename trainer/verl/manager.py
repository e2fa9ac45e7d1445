# pyright: reportMissingImports=false, reportUnknownMemberType=false
"""Where rollouts are played on a cluster: on nodes that offer the resource `termforge_sandbox`, where there are any; else on all.

ray start --address=HEAD:PORT --resources='{"termforge_sandbox": 1}'
"""

from __future__ import annotations

from unittest import mock

import ray
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ

RESOURCE = "termforge_sandbox"


class SandboxNodesManager(AgentLoopManagerTQ):
    """verl's manager, which places its workers in turn on the nodes that it is shown."""

    async def _init_agent_loop_workers(self) -> None:
        nodes = ray.nodes()
        offering = [node for node in nodes if node["Alive"] and node["Resources"].get(RESOURCE, 0) > 0]
        with mock.patch.object(ray, "nodes", lambda: offering or nodes):
            await super()._init_agent_loop_workers()
