// Of the interface of Arm's Linux driver stack, what the delegate uses.
#pragma once
#define ETHOSU_PMU_EVENT_MAX 4
