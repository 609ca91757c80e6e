// Declares the resource that collectives write, in graphs and in plans.

#ifndef GRADUS_COMMUNICATOR_TD
#define GRADUS_COMMUNICATOR_TD

include "mlir/Interfaces/SideEffectInterfaces.td"

// All of them stay, in the same order on each rank.
def Communicator : Resource<"::gradus::Communicator">;

#endif
